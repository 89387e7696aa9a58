# The modules of MPI libraries (src/cluster/wire.h): src/cluster/mpi/module.c, compiled once for each library that is
# here, as drove_mpi_openmpi.so and drove_mpi_mpich.so.  Programs open them at run time (src/cluster/ranks_open.h) and
# are linked with neither.
if(NOT DROVE_WITH_MPI MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "DROVE_WITH_MPI is '${DROVE_WITH_MPI}'; it may be AUTO, ON or OFF")
endif()
set(DROVE_HAVE_MPI)
# A sanitizer would find the libraries' own leaks.
if(DROVE_WITH_MPI STREQUAL "ON" OR (DROVE_WITH_MPI STREQUAL "AUTO" AND DROVE_SANITIZE STREQUAL ""))
  foreach(name openmpi mpich)
    if(name STREQUAL "openmpi")
      pkg_check_modules(drove_${name} QUIET IMPORTED_TARGET GLOBAL ompi-c)
    else()
      pkg_check_modules(drove_${name} QUIET IMPORTED_TARGET GLOBAL ${name})
    endif()
    if(drove_${name}_FOUND)
      list(APPEND DROVE_HAVE_MPI ${name})
    endif()
  endforeach()
  if(NOT DROVE_HAVE_MPI AND DROVE_WITH_MPI STREQUAL "ON")
    message(FATAL_ERROR "neither Open MPI nor MPICH was found by pkg-config as ompi-c or mpich (Debian: libopenmpi-dev, "
      "libmpich-dev); -DDROVE_WITH_MPI=OFF builds without them")
  endif()
endif()
if(DROVE_HAVE_MPI)
  list(JOIN DROVE_HAVE_MPI ", " drove_mpi_found)
  message(STATUS "MPI: ${drove_mpi_found}")
else()
  message(STATUS "MPI: OFF (runs of one process; others need Open MPI or MPICH here)")
endif()

# One module for each library that was found; called from src/.
function(drove_mpi_modules)
  foreach(name IN LISTS DROVE_HAVE_MPI)
    set(target drove_mpi_${name})
    add_library(${target} MODULE cluster/mpi/module.c)
    set_target_properties(${target} PROPERTIES
      PREFIX "" OUTPUT_NAME drove_mpi_${name} LIBRARY_OUTPUT_DIRECTORY ${drove_accelerator_folder}
      C_VISIBILITY_PRESET hidden INSTALL_RPATH_USE_LINK_PATH ON)
    target_compile_definitions(${target} PRIVATE DROVE_WIRE_NAME="${name}")
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_options(${target} PRIVATE -Wmissing-prototypes)
    target_link_libraries(${target} PRIVATE drove_flags PkgConfig::drove_${name} Threads::Threads)
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/drove)
    set_property(GLOBAL APPEND PROPERTY DROVE_LOADABLE ${target})
  endforeach()
endfunction()
