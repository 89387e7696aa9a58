# Compiler flags of everything that is compiled here: target drove_flags, linked by every target.
#
# -ffp-contract=off: a multiplication and an addition are fused only where the source says so (fmaf or an intrinsic),
# so that results do not depend on the compiler.  No flag here names a processor: the files of one ISA tier get theirs
# in src/CMakeLists.txt.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)

add_library(drove_flags INTERFACE)
target_compile_options(drove_flags INTERFACE
  -ffp-contract=off -fno-math-errno
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # A failed call leaves its results untouched and its caller returns at once; gcc cannot know that the status it
  # forwards is never DROVE_OK, and warns.  -Wuninitialized stays, and so do clang's flow-sensitive warnings.
  target_compile_options(drove_flags INTERFACE -Wno-maybe-uninitialized)
endif()
if(DROVE_WERROR)
  target_compile_options(drove_flags INTERFACE -Werror)
endif()

# For the files of an ISA tier, the slowest to compile.  Without a sanitizer and at -O1 they cost a third of the time, and
# the kernels are faster than when they are checked; with DROVE_TIERS_OF they are not compiled at all, but those of another
# build are linked.  With DROVE_SANITIZE_TIERS AddressSanitizer checks them too, without the checks of each pointer, since
# it finds wild accesses there, and with local arrays unchecked: they are registers then, and products 30 times as fast.
set(drove_tier_options "")
set(drove_loop_options "")  # for loops in plain C over large arrays; the compiler uses lanes without these checks
if(DROVE_SANITIZE STREQUAL "address")
  set(drove_checked_lanes -O2 -fno-sanitize=null,alignment,object-size,pointer-overflow)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND drove_checked_lanes --param=asan-stack=0)
  else()
    list(APPEND drove_checked_lanes -mllvm -asan-stack=0)
  endif()
  if(DROVE_SANITIZE_TIERS)
    set(drove_tier_options ${drove_checked_lanes})
  else()
    set(drove_tier_options -O1 -fno-sanitize=all)
  endif()
  set(drove_loop_options ${drove_checked_lanes} -O3 -fno-sanitize=bounds)
  set(drove_sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # Targets with the property DROVE_QUICK, tests and what surrounds a run, take less time than optimising them.
  target_compile_options(drove_flags INTERFACE $<IF:$<BOOL:$<TARGET_PROPERTY:DROVE_QUICK>>,-O0,-O1> -g1 ${drove_sanitize})
  # Programs at a fixed address: 300,000 pointers of the sanitizers need not be relocated at each start.
  target_link_options(drove_flags INTERFACE ${drove_sanitize}
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
elseif(DROVE_SANITIZE STREQUAL "thread")
  # Scalar code: the sanitizer does not see races of wide vector accesses.
  target_compile_options(drove_flags INTERFACE
    $<IF:$<BOOL:$<TARGET_PROPERTY:DROVE_QUICK>>,-O0,-O1> -g1 -fsanitize=thread -fno-omit-frame-pointer -fno-tree-vectorize -fno-tree-slp-vectorize)
  target_link_options(drove_flags INTERFACE -fsanitize=thread)
elseif(NOT DROVE_SANITIZE STREQUAL "")
  message(FATAL_ERROR "DROVE_SANITIZE is '${DROVE_SANITIZE}'; it may be empty, 'address' or 'thread'")
endif()

# For scripts/coverage: counts of every line and branch of these folders, whose code is left as it was written.  Threads
# count together.  Kernels and engines are not counted, as they would take many times as long.  DROVE_COVERAGE=reach, for
# scripts/mutate: which lines run at all, engines too, faster.
set(drove_covered_modules "")
if(DROVE_COVERAGE)
  set(drove_covered_modules base trace table data model optim strategy sync coord cluster accum elastic plan stream loop
    metrics report use config values problem auto files run train export)
  set(drove_coverage -O0 -g1 --coverage -fprofile-update=atomic)
  if(DROVE_COVERAGE STREQUAL "reach")
    list(APPEND drove_covered_modules engine)
    set(drove_coverage -O1 -fno-inline -g1 --coverage -fprofile-update=single)
  endif()
  target_link_options(drove_flags INTERFACE --coverage)
endif()

# For the hundreds of test programs gold takes a third of the time of GNU ld, which debug information makes slower yet.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CROSSCOMPILING)
  include(CheckLinkerFlag)
  check_linker_flag(C -fuse-ld=gold DROVE_HAVE_GOLD)
  if(DROVE_HAVE_GOLD AND DROVE_SANITIZE STREQUAL "")
    target_link_options(drove_flags INTERFACE $<$<BOOL:$<TARGET_PROPERTY:DROVE_QUICK>>:-fuse-ld=gold>)
  elseif(DROVE_HAVE_GOLD)
    target_link_options(drove_flags INTERFACE -fuse-ld=gold)
  endif()
endif()

if(DROVE_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "DROVE_FUZZ needs clang (Debian: clang, libclang-rt-14-dev): -DCMAKE_C_COMPILER=clang")
  endif()
  target_compile_options(drove_flags INTERFACE -fsanitize=fuzzer-no-link,float-cast-overflow
    -fno-sanitize-recover=float-cast-overflow)
endif()

# Which lines ran, by clang: scripts/fuzz --coverage.
if(DROVE_FUZZ_COVERAGE)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "DROVE_FUZZ_COVERAGE needs clang: -DCMAKE_C_COMPILER=clang")
  endif()
  target_compile_options(drove_flags INTERFACE -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(drove_flags INTERFACE -fprofile-instr-generate)
endif()
