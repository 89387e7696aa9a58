# drove_test_folder(<folder> <label> <libraries>...)
#
# Each test_*.c of a folder is a CTest test, named after the file; those at home in this build are one cmocka program,
# <folder>_tests, the others <folder>_rest.  Its labels are the kind, <label>, and for a unit test the folder, such as
# unit/sync; the targets drove_<kind>_tests and drove_unit_<module>_tests build all tests of one label.  A stem ending in
# _long adds the label `long`, and those tests run only on demand (check-long, scripts/test --long).
#
# Each kind of test has a home, the build in which scripts/test runs it; scripts/test --long runs it in all of them:
#   sanitized   unit, fuzz, hostile: AddressSanitizer and UndefinedBehaviorSanitizer
#   release     all other kinds; what a compiler optimises, many processes, speed
#   thread      stress, again, under ThreadSanitizer
#   portable    kernel and portable, again, without optional libraries, by another compiler
# A test at home in this build has the label `home`, and the target drove_home_tests builds it; `all` leaves out the rest.
#
# The first comment of a file may have lines with
#   ctest: timeout=SECONDS      more than the usual 300
#   ctest: home=HOME: REASON    another home, or home=both (sanitized and release)
#   ctest: slow: REASON         takes more than five seconds
#   ctest: syncs: REASON        its programs wait for the disk as users' do; those of other tests do not
#   ctest: wraps=SYMBOL,...     the file's __wrap_SYMBOL takes the place of each; a program of its own
#   ctest: apart: REASON        a program of its own for another reason
drove_require(cmocka libcmocka-dev)

if(DROVE_SANITIZE STREQUAL "thread")
  set(drove_test_environment "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1")
elseif(DROVE_SANITIZE STREQUAL "address")
  # verify_asan_link_order=0: drove_no_sync may be loaded before the sanitizer's library, as it replaces nothing of it.
  set(drove_test_environment "ASAN_OPTIONS=verify_asan_link_order=0:detect_stack_use_after_return=1:strict_string_checks=1;UBSAN_OPTIONS=print_stacktrace=1")
else()
  set(drove_test_environment "")
endif()

# Which of them this build is.
if(DROVE_SANITIZE STREQUAL "address")
  set(drove_home sanitized)
elseif(DROVE_SANITIZE STREQUAL "thread")
  set(drove_home thread)
elseif(DROVE_PORTABLE)
  set(drove_home portable)
else()
  set(drove_home release)
endif()
# Starts a test of scripts: run-in-scratch.sh FOLDER COMMAND...
set(drove_run_in_scratch ${PROJECT_SOURCE_DIR}/cmake/run-in-scratch.sh)

add_custom_target(drove_home_tests)
if(NOT drove_home STREQUAL "thread")
  add_dependencies(drove_home_tests drove_install_set)
endif()

# Sets variable: ON if tests of this file and kind are at home in this build.  Homes: instead of those of the kind.
function(drove_test_is_home variable file kind)  # [HOMES...]
  set(homes release)
  if(kind MATCHES "^(unit|fuzz|hostile)$")
    set(homes sanitized)
  elseif(kind STREQUAL stress)
    set(homes release thread)
  elseif(kind MATCHES "^(kernel|portable)$")
    set(homes release portable)
  endif()
  file(STRINGS ${file} wish REGEX "ctest: (home|.*only)=" LIMIT_COUNT 1)
  if(wish MATCHES "ctest: home=(sanitized|release|both): [^ ]")
    set(homes ${CMAKE_MATCH_1})
  elseif(wish)
    message(FATAL_ERROR "${file}: expected \"ctest: home=sanitized|release|both: REASON\", found: ${wish}")
  endif()
  list(TRANSFORM homes REPLACE both "sanitized;release")
  if(ARGN)
    set(homes ${ARGN})
  endif()
  set(${variable} OFF PARENT_SCOPE)
  if(drove_home IN_LIST homes)
    set(${variable} ON PARENT_SCOPE)
  endif()
endfunction()

# The properties every test has, whatever runs it.
function(drove_test_properties test file label)  # [HOMES...]
  set(labels ${label})
  set(timeout 300)  # ends what hangs; a slow test on a busy machine is no failure
  get_filename_component(stem ${file} NAME_WE)
  if(stem MATCHES "_long$")
    list(APPEND labels long)
    set(timeout 3600)
  endif()
  file(STRINGS ${file} wish REGEX "ctest: timeout=[0-9]+" LIMIT_COUNT 1)
  if(wish)
    string(REGEX REPLACE ".*ctest: timeout=([0-9]+).*" "\\1" timeout "${wish}")
  endif()
  list(GET label 0 kind)
  drove_test_is_home(is_home ${file} ${kind} ${ARGN})
  if(is_home)
    list(APPEND labels home)
  endif()
  if(NOT DROVE_SANITIZE STREQUAL "" OR DROVE_COVERAGE)
    math(EXPR timeout "${timeout} * 2")
  endif()
  if(CMAKE_CROSSCOMPILING)  # an emulator runs it
    math(EXPR timeout "${timeout} * 10")
  endif()
  set_tests_properties(${test} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} SKIP_RETURN_CODE 77)
  # Nobody's own cache; one for all, so that what drivers compile and which convolutions are fastest is found out once.
  # NumPy would start a thread for each processor, which spins while it waits.
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "${drove_test_environment}" "OPENBLAS_NUM_THREADS=1"
    "XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/tests/scratch/device-cache")
endfunction()

# Programs that a short test starts do not wait for the disk (tests/support/no_sync.c), as far as it does not preload
# another library itself; run-in-scratch.sh preloads it.
function(drove_test_without_syncs test file)
  get_property(labels TEST ${test} PROPERTY LABELS)
  file(STRINGS ${file} wish REGEX "ctest: syncs: [^ ]" LIMIT_COUNT 1)
  if(TARGET drove_no_sync AND NOT wish AND NOT "long" IN_LIST labels)
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "DROVE_NO_SYNC=$<TARGET_FILE:drove_no_sync>")
  endif()
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

# A cmocka program of these files.
function(drove_test_program name libraries)  # FILES...
  add_executable(${name} ${ARGN} $<$<TARGET_EXISTS:drove_test_no_sync>:$<TARGET_OBJECTS:drove_test_no_sync>>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/support)
  target_compile_definitions(${name} PRIVATE DROVE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # Assertions of the tests themselves stay.  -O1: most tests run for less time than -O3 takes to compile them.
  target_compile_options(${name} PRIVATE -UNDEBUG $<$<CONFIG:Release>:-O1>)
  set_target_properties(${name} PROPERTIES DROVE_QUICK ON)
  target_link_libraries(${name} PRIVATE drove_flags $<TARGET_NAME_IF_EXISTS:drove_test_support> ${libraries} PkgConfig::cmocka m)
  set_property(GLOBAL APPEND PROPERTY DROVE_TEST_TARGETS ${name})
endfunction()

# The tests of these files, by one program: their homes are alike.
function(drove_test_files program label folder libraries)  # FILES...
  set(labels ${label} ${folder})
  list(REMOVE_DUPLICATES labels)
  foreach(file IN LISTS ARGN)
    drove_test_name(name ${file})
    set_property(GLOBAL PROPERTY drove_program_of_${name} ${program})
    drove_test_run(${name} ${name} ${file} "${labels}")
  endforeach()
  drove_test_program(${program} "${libraries}" ${ARGN})
  foreach(kind IN LISTS labels)
    string(REPLACE "/" "_" target drove_${kind}_tests)
    if(NOT TARGET ${target})
      add_custom_target(${target})
    endif()
    add_dependencies(${target} ${program})
  endforeach()
  list(GET ARGN 0 file)
  drove_test_is_home(is_home ${file} ${label})
  if(is_home)
    add_dependencies(drove_home_tests ${program})
  else()
    set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# A run of the test `test` of a file, as the test `name`, which may have an environment of its own.
function(drove_test_run name test file labels)
  cmake_parse_arguments(arg "" "" "HOMES;ENVIRONMENT" ${ARGN})
  get_property(program GLOBAL PROPERTY drove_program_of_${test})
  get_filename_component(stem ${file} NAME_WE)
  set(scratch ${CMAKE_CURRENT_BINARY_DIR}/scratch/${name})
  file(MAKE_DIRECTORY ${scratch})
  if(program STREQUAL stem OR program STREQUAL test)
    set(stem "")
  endif()
  add_test(NAME ${name} COMMAND ${program} ${stem} WORKING_DIRECTORY ${scratch})
  drove_test_properties(${name} ${file} "${labels}" ${arg_HOMES})
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ${arg_ENVIRONMENT})
endfunction()

# What the program of a test needs beside its own files.
function(drove_test_needs test)  # TARGETS...
  get_property(program GLOBAL PROPERTY drove_program_of_${test})
  add_dependencies(${program} ${ARGN})
endfunction()

# The folder's other .c files are compiled once and linked to each of its programs.
function(drove_test_folder folder label)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.c)
  set(support ${files})
  list(FILTER files INCLUDE REGEX "/test_[^/]*\\.c$")
  list(FILTER support EXCLUDE REGEX "/test_[^/]*\\.c$")
  string(REPLACE "/" "_" program ${folder})
  set(libraries ${ARGN})
  if(support AND files)
    set(library drove_test_${program})
    add_library(${library} STATIC EXCLUDE_FROM_ALL ${support})
    target_include_directories(${library} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/support)
    target_compile_definitions(${library} PRIVATE DROVE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_compile_options(${library} PRIVATE -UNDEBUG $<$<CONFIG:Release>:-O1>)
    target_link_libraries(${library} PRIVATE drove_flags $<TARGET_NAME_IF_EXISTS:drove_test_support> ${ARGN}
      PkgConfig::cmocka)
    list(PREPEND libraries ${library})
  endif()
  set(tests "")
  set(rest "")
  foreach(file IN LISTS files)
    file(STRINGS ${file} wishes REGEX "ctest: (wraps=|apart: )")
    drove_test_is_home(is_home ${file} ${label})
    if(wishes)
      drove_test_name(name ${file})
      drove_test_files(${name} ${label} ${folder} "${libraries}" ${file})
      string(REGEX MATCHALL "wraps=[A-Za-z0-9_,]+" wishes "${wishes}")
      string(REGEX REPLACE "(^|;)wraps=|," ";-Wl,--wrap=" wraps "${wishes}")
      target_link_options(${name} PRIVATE ${wraps})
    elseif(is_home)
      list(APPEND tests ${file})
    else()
      list(APPEND rest ${file})
    endif()
  endforeach()
  foreach(kind tests rest)
    if(${kind})
      drove_test_files(${program}_${kind} ${label} ${folder} "${libraries}" ${${kind}})
    endif()
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
    COMMAND ${drove_run_in_scratch} ${scratch} bash ${file})
  drove_test_properties(${name} ${file} "${label}")
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
    "DROVE=${PROJECT_BINARY_DIR}/drove" "DROVE_SOURCE_DIR=${PROJECT_SOURCE_DIR}" "DROVE_BUILD_DIR=${PROJECT_BINARY_DIR}"
    "DROVE_CC=${CMAKE_C_COMPILER}" "DROVE_SANITIZE=${DROVE_SANITIZE}" "DROVE_PYTHON=${drove_python}")
  drove_test_without_syncs(${name} ${file})
endfunction()
