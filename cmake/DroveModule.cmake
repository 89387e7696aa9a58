# drove_module(<folder> [USES <modules it may include>...] [LIBRARIES <external libraries>...]
#              [EXCLUDE <regex>] [EXTRA <generated sources>...] [OBJECTS <compiled elsewhere>...] [APART])
#
# Makes of src/<folder>/**/*.c
#   drove_<folder>          an OBJECT library, hidden symbols, position-independent
#   drove_<folder>_archive  the same objects as an archive, which carries along the archives of what the folder uses;
#                           tests link it, so that a unit test sees its module and what that may include, no more
# and adds the folder to the global list DROVE_MODULES, which makes the library; APART: it is no part of the library.
function(drove_module name)
  cmake_parse_arguments(arg "APART" "EXCLUDE" "USES;LIBRARIES;EXTRA;OBJECTS" ${ARGN})

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.c)
  if(arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${arg_EXCLUDE}")
  endif()
  list(APPEND sources ${arg_EXTRA})
  if(NOT sources)  # a folder of headers only
    set(empty ${CMAKE_CURRENT_BINARY_DIR}/${name}_has_no_source.c)
    file(CONFIGURE OUTPUT ${empty} CONTENT "typedef int drove_${name}_has_no_source;\n")
    set(sources ${empty})
  endif()

  set(target drove_${name})
  add_library(${target} OBJECT ${sources})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${target} PRIVATE -Wmissing-prototypes)
  target_link_libraries(${target} PRIVATE drove_flags ${arg_LIBRARIES} Threads::Threads)
  if(name IN_LIST drove_covered_modules)
    target_compile_options(${target} PRIVATE ${drove_coverage})
  endif()

  add_library(${target}_archive STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${target}> ${arg_OBJECTS})
  set_target_properties(${target}_archive PROPERTIES LINKER_LANGUAGE C)
  target_include_directories(${target}_archive INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  foreach(used IN LISTS arg_USES)
    target_link_libraries(${target}_archive INTERFACE drove_${used}_archive)
  endforeach()
  target_link_libraries(${target}_archive INTERFACE ${arg_LIBRARIES} Threads::Threads m)

  if(NOT arg_APART)
    set_property(GLOBAL APPEND PROPERTY DROVE_MODULES ${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY DROVE_EXTERNAL ${arg_LIBRARIES})
endfunction()

# drove_protobuf(<variable> <folder>): compile src/<folder>/*.proto; the generated sources go to the variable, their
# headers are included as "<folder>/<name>.pb-c.h" or "<name>.pb-c.h".
function(drove_protobuf variable name)
  set(into ${CMAKE_CURRENT_BINARY_DIR}/generated/${name})
  file(MAKE_DIRECTORY ${into})
  file(GLOB protos CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.proto)
  set(generated)
  foreach(proto IN LISTS protos)
    get_filename_component(stem ${proto} NAME_WE)
    add_custom_command(
      OUTPUT ${into}/${stem}.pb-c.c ${into}/${stem}.pb-c.h
      COMMAND ${DROVE_PROTOC_C} --proto_path=${CMAKE_CURRENT_SOURCE_DIR}/${name} --c_out=${into} ${proto}
      DEPENDS ${proto} VERBATIM)
    set_source_files_properties(${into}/${stem}.pb-c.c PROPERTIES COMPILE_OPTIONS "-w")
    list(APPEND generated ${into}/${stem}.pb-c.c ${into}/${stem}.pb-c.h)
  endforeach()
  set(${variable} ${generated} PARENT_SCOPE)
endfunction()
