# What `cmake --install` puts where.
include(CMakePackageConfigHelpers)

if(TARGET drove)
  install(TARGETS drove RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/drove DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
