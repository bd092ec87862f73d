# `make install`, and find_package(skein) for those who link the library.

include(CMakePackageConfigHelpers)

install(TARGETS skein-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS skein EXPORT skein-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# What only tests use stays at home.
install(DIRECTORY skein/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/skein FILES_MATCHING PATTERN "*.hpp"
        PATTERN "*test*" EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/skein)
install(EXPORT skein-targets NAMESPACE skein:: DESTINATION ${config_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/skeinConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/skeinConfig.cmake ${CMAKE_BINARY_DIR}/skeinConfigVersion.cmake DESTINATION ${config_dir})
