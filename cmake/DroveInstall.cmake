# What `cmake --install` puts where: program, both libraries, headers, pkg-config file, CMake package, man page,
# bash completion, modules (cmake/DroveAccelerators.cmake, cmake/DroveMpi.cmake).  Target drove_install_set builds all of
# it and no test.
include(CMakePackageConfigHelpers)
set(drove_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/drove)

get_property(modules GLOBAL PROPERTY DROVE_LOADABLE)
add_custom_target(drove_install_set)
add_dependencies(drove_install_set drove_shared drove_static ${modules})
if(TARGET drove)
  install(TARGETS drove RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  add_dependencies(drove_install_set drove)
endif()
install(TARGETS drove_shared drove_static EXPORT droveTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/drove DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT droveTargets NAMESPACE drove:: DESTINATION ${drove_package_folder})

# Both files find the installation from where they lie, so that it may be moved as a whole.
file(RELATIVE_PATH drove_up_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(drove_private_libraries "-lm -ldl -pthread")
if(DROVE_HAVE_BZIP2)
  set(drove_private_libraries "-lbz2 ${drove_private_libraries}")
endif()
if(DROVE_HAVE_ONEDNN)
  set(drove_private_libraries "-ldnnl -lgomp ${drove_private_libraries}")
endif()
configure_file(cmake/drove.pc.in drove.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/drove.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_package_config_file(cmake/droveConfig.cmake.in droveConfig.cmake INSTALL_DESTINATION ${drove_package_folder})
write_basic_package_version_file(droveConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/droveConfig.cmake ${PROJECT_BINARY_DIR}/droveConfigVersion.cmake
  DESTINATION ${drove_package_folder})

install(FILES docs/man/drove.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES scripts/completion/drove.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME drove)
