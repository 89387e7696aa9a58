# The modules of accelerators (src/engine/module.h): drove_NAME.so, opened at run time by programs that were linked
# without them.  A module sees src/engine/accel/accel.h and its own sources, and no function of drove.

# In the build tree they lie where a program or library of it looks for them (src/CMakeLists.txt).
set(drove_accelerator_folder ${PROJECT_BINARY_DIR}/lib/drove)
set(drove_accelerators)

# drove_accelerator(<name> <ON|OFF> <target of its libraries>): src/engine/<name>/ as module drove_<name>.
#
# Kernels are written once for all (src/engine/accel/kernels/): a module that compiles them at run time finds them as
# texts in the generated header "engine/accel/kernels.h", one array NAME_h[] for each NAME.h, ended by a zero.
function(drove_accelerator name wanted libraries)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/engine/${name}/*.c)
  file(GLOB_RECURSE device_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/engine/${name}/*.cu)
  if(NOT wanted OR NOT sources)
    return()
  endif()
  set(target drove_accelerator_${name})
  add_library(${target} MODULE ${sources})
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME drove_${name} LIBRARY_OUTPUT_DIRECTORY ${drove_accelerator_folder}
    C_VISIBILITY_PRESET hidden
    # An installed module finds the libraries that it was linked with, where no package put them on the usual path.
    INSTALL_RPATH_USE_LINK_PATH ON)
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_BINARY_DIR}/generated)
  target_compile_options(${target} PRIVATE -Wmissing-prototypes)
  target_link_libraries(${target} PRIVATE drove_flags ${libraries} Threads::Threads)
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL)
  drove_embed_kernels(${target})
  if(device_sources)  # compiled by nvcc, which does not know the flags of the C files
    add_library(${target}_code OBJECT ${device_sources})
    set_target_properties(${target}_code PROPERTIES
      POSITION_INDEPENDENT_CODE ON CUDA_VISIBILITY_PRESET hidden CUDA_RUNTIME_LIBRARY Static)
    target_include_directories(${target}_code PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_compile_options(${target}_code PRIVATE -Xcompiler=-Wall,-Wextra $<$<BOOL:${DROVE_WERROR}>:-Werror=all-warnings>)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_code>)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/drove)
  set_property(GLOBAL APPEND PROPERTY DROVE_LOADABLE ${target})
endfunction()

# The header of all kernels' texts, made when one of them changes.
function(drove_embed_kernels target)
  file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/engine/accel/kernels/*.h
    ${CMAKE_CURRENT_SOURCE_DIR}/kernel/curves.h)
  set(header ${CMAKE_CURRENT_BINARY_DIR}/generated/engine/accel/kernels.h)
  if(NOT TARGET drove_kernel_texts)
    add_custom_command(OUTPUT ${header}
      COMMAND ${CMAKE_COMMAND} -DOUTPUT=${header} "-DSOURCES=${kernels}"
        -P ${PROJECT_SOURCE_DIR}/cmake/embed-texts.cmake
      DEPENDS ${kernels} ${PROJECT_SOURCE_DIR}/cmake/embed-texts.cmake VERBATIM)
    add_custom_target(drove_kernel_texts DEPENDS ${header})
  endif()
  add_dependencies(${target} drove_kernel_texts)
endfunction()
