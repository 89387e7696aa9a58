# The targets a developer calls: check, check-long, check-format, check-layers, check-docs.
if(DROVE_TESTS)
  get_property(targets GLOBAL PROPERTY DROVE_TEST_TARGETS)
  add_custom_target(drove_tests DEPENDS ${targets})  # of all homes
  if(TARGET drove)
    add_dependencies(drove_tests drove)
  endif()
  cmake_host_system_information(RESULT n_at_once QUERY NUMBER_OF_LOGICAL_CORES)
  set(run_ctest ${CMAKE_CTEST_COMMAND} -j ${n_at_once} --output-on-failure)
  add_custom_target(check COMMAND ${run_ctest} -LE long
    DEPENDS drove_tests USES_TERMINAL VERBATIM)
  add_custom_target(check-long COMMAND ${run_ctest}
    DEPENDS drove_tests USES_TERMINAL VERBATIM)
endif()
add_custom_target(check-layers COMMAND ${PROJECT_SOURCE_DIR}/scripts/check-layers
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
add_custom_target(check-format COMMAND ${PROJECT_SOURCE_DIR}/scripts/check-format
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
add_custom_target(check-docs
  COMMAND ${CMAKE_COMMAND} -E env DROVE=${PROJECT_BINARY_DIR}/drove ${PROJECT_SOURCE_DIR}/scripts/check-docs
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
