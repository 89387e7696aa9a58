# drove_test(<file.c> LABEL <label> [FOLDER <folder>] [LIBRARIES <targets>...])
#
# One cmocka program and one CTest test, both named after the file.  Its labels are the kind, LABEL, and for a unit test
# the folder, such as unit/sync; the targets drove_<kind>_tests and drove_unit_<module>_tests build all tests of one
# label.  A stem ending in _long adds the label `long`, and
# those tests run only on demand (check-long, scripts/test --long).  A file whose first comment has a line with
#   ctest: timeout=SECONDS    needs more than the usual time
#   ctest: only=CONFIG        is run by scripts/test in this configuration alone, release or asan, but by --long in both;
#                             its label is only-CONFIG
# or with both, in this order.
drove_require(cmocka libcmocka-dev)

if(DROVE_SANITIZE STREQUAL "thread")
  set(drove_test_environment "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1")
elseif(DROVE_SANITIZE STREQUAL "address")
  set(drove_test_environment "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1;UBSAN_OPTIONS=print_stacktrace=1")
else()
  set(drove_test_environment "")
endif()

# The properties every test has, whatever runs it.
function(drove_test_properties test file label)
  set(labels ${label})
  set(expected 120)  # seconds at most, if the machine has nothing else to do
  get_filename_component(stem ${file} NAME_WE)
  if(stem MATCHES "_long$")
    list(APPEND labels long)
    set(expected 3600)
  endif()
  file(STRINGS ${file} wish REGEX "ctest: timeout=[0-9]+" LIMIT_COUNT 1)
  if(wish)
    string(REGEX REPLACE ".*ctest: timeout=([0-9]+).*" "\\1" expected "${wish}")
  endif()
  # The limit ends what hangs; a slow test on a busy machine is no failure.
  set(timeout ${expected})
  if(timeout LESS 300)
    set(timeout 300)
  endif()
  file(STRINGS ${file} wish REGEX "ctest:( timeout=[0-9]+)? only=" LIMIT_COUNT 1)
  if(wish MATCHES "only=(release|asan)")
    list(APPEND labels only-${CMAKE_MATCH_1})
  elseif(wish)
    message(FATAL_ERROR "${file}: expected only=release or only=asan, found: ${wish}")
  endif()
  if(NOT DROVE_SANITIZE STREQUAL "" OR DROVE_COVERAGE)
    math(EXPR timeout "${timeout} * 5")
  endif()
  if(CMAKE_CROSSCOMPILING)  # an emulator runs it
    math(EXPR timeout "${timeout} * 10")
  endif()
  # COST: those that may take long begin first, so that none of them runs alone at the end.
  set_tests_properties(${test} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} COST ${expected} SKIP_RETURN_CODE 77)
  # Nobody's own cache; one for all, so that what drivers compile and which convolutions are fastest is found out once.
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "${drove_test_environment}"
    "XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/tests/scratch/device-cache")
endfunction()

# A name that is free: the stem, or folder_stem where two folders have the same.
function(drove_test_name variable file)
  get_filename_component(name ${file} NAME_WE)
  if(TARGET ${name} OR TEST ${name})
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(folder ${folder} NAME)
    set(name ${folder}_${name})
  endif()
  set(${variable} ${name} PARENT_SCOPE)
endfunction()

function(drove_test file)
  cmake_parse_arguments(arg "" "LABEL;FOLDER" "LIBRARIES" ${ARGN})
  drove_test_name(name ${file})
  add_executable(${name} ${file} $<$<TARGET_EXISTS:drove_test_no_sync>:$<TARGET_OBJECTS:drove_test_no_sync>>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/support)
  target_compile_definitions(${name} PRIVATE DROVE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # Assertions of the tests themselves stay.  -O1: most tests run for less time than -O3 takes to compile them.
  target_compile_options(${name} PRIVATE -UNDEBUG $<$<CONFIG:Release>:-O1>)
  set_target_properties(${name} PROPERTIES DROVE_QUICK ON)
  target_link_libraries(${name} PRIVATE drove_flags $<TARGET_NAME_IF_EXISTS:drove_test_support> ${arg_LIBRARIES}
    PkgConfig::cmocka m)
  set(scratch ${CMAKE_CURRENT_BINARY_DIR}/scratch/${name})
  file(MAKE_DIRECTORY ${scratch})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${scratch})
  set(labels ${arg_LABEL} ${arg_FOLDER})
  list(REMOVE_DUPLICATES labels)
  drove_test_properties(${name} ${file} "${labels}")
  set_property(GLOBAL APPEND PROPERTY DROVE_TEST_TARGETS ${name})
  foreach(label IN LISTS labels)
    string(REPLACE "/" "_" target drove_${label}_tests)
    if(NOT TARGET ${target})
      add_custom_target(${target})
    endif()
    add_dependencies(${target} ${name})
  endforeach()
endfunction()

# Every test_*.c of a folder; its other .c files are compiled once and linked to each of them.
function(drove_test_folder folder label)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.c)
  set(support ${files})
  list(FILTER files INCLUDE REGEX "/test_[^/]*\\.c$")
  list(FILTER support EXCLUDE REGEX "/test_[^/]*\\.c$")
  set(library "")
  if(support AND files)
    string(REPLACE "/" "_" library drove_test_${folder})
    add_library(${library} STATIC EXCLUDE_FROM_ALL ${support})
    target_include_directories(${library} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/support)
    target_compile_definitions(${library} PRIVATE DROVE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_compile_options(${library} PRIVATE -UNDEBUG $<$<CONFIG:Release>:-O1>)
    target_link_libraries(${library} PRIVATE drove_flags $<TARGET_NAME_IF_EXISTS:drove_test_support> ${ARGN}
      PkgConfig::cmocka)
  endif()
  foreach(file IN LISTS files)
    drove_test(${file} LABEL ${label} FOLDER ${folder} LIBRARIES ${library} ${ARGN})
  endforeach()
endfunction()

# What a shell test calls python3: the interpreter itself.  A wrapper of that name in the path (pyenv's) takes longer to
# start than most of their scripts to run.
find_program(DROVE_PYTHON3 python3)
mark_as_advanced(DROVE_PYTHON3)
set(drove_python "")
if(DROVE_PYTHON3)
  execute_process(COMMAND ${DROVE_PYTHON3} -c "import sys; print(sys.executable)"
    OUTPUT_VARIABLE drove_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()

# A shell test: runs in an empty folder of its own with DROVE (the program), DROVE_SOURCE_DIR, DROVE_BUILD_DIR and
# DROVE_PYTHON set; exit status 77 = skipped.
function(drove_shell_test file label)
  drove_test_name(name ${file})
  set(scratch ${CMAKE_CURRENT_BINARY_DIR}/scratch/${name})
  add_test(NAME ${name}
    COMMAND ${PROJECT_SOURCE_DIR}/cmake/run-in-scratch.sh ${scratch} bash ${file})
  drove_test_properties(${name} ${file} "${label}")
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
    "DROVE=${PROJECT_BINARY_DIR}/drove" "DROVE_SOURCE_DIR=${PROJECT_SOURCE_DIR}" "DROVE_BUILD_DIR=${PROJECT_BINARY_DIR}"
    "DROVE_CC=${CMAKE_C_COMPILER}" "DROVE_SANITIZE=${DROVE_SANITIZE}" "DROVE_PYTHON=${drove_python}")
endfunction()
