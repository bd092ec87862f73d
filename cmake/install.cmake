# `make install`, find_package(skein) for those who link the library, and the Debian package (`cpack -G DEB`), which
# has the program and what belongs to it: unit, man page, completions.

include(CMakePackageConfigHelpers)

install(TARGETS skein-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(FILES packaging/skein.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)

# Made by the program itself when it is installed. The unit names the program where it is then.
install(CODE "
  set(skein \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/skein\")
  set(share \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")
  foreach(shell bash:bash-completion/completions/skein zsh:zsh/site-functions/_skein
                fish:fish/vendor_completions.d/skein.fish)
    string(REGEX MATCH \"^([a-z]+):(.*)/([^/]+)\$\" parts \"\${shell}\")
    set(name \"\${CMAKE_MATCH_1}\")
    set(folder \"\${CMAKE_MATCH_2}\")
    set(made \"${CMAKE_BINARY_DIR}/completions/\${CMAKE_MATCH_3}\")
    execute_process(COMMAND \"\${skein}\" completion \"\${name}\" OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    file(WRITE \"\${made}\" \"\${text}\")
    file(INSTALL \"\${made}\" DESTINATION \"\${share}/\${folder}\")
  endforeach()
  file(READ \"${CMAKE_SOURCE_DIR}/packaging/skein.service\" unit)
  string(REPLACE \"/usr/bin/skein\" \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/skein\" unit \"\${unit}\")
  file(WRITE \"${CMAKE_BINARY_DIR}/skein.service\" \"\${unit}\")
  file(INSTALL \"${CMAKE_BINARY_DIR}/skein.service\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system\")
" COMPONENT program)

# skein::core by itself; skein::node, and skein::skein, which is the same by its older name.
install(TARGETS skein-core EXPORT skein-core-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(TARGETS skein-node skein EXPORT skein-node-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT library)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/skein)
foreach(part core node)
  install(EXPORT skein-${part}-targets NAMESPACE skein:: DESTINATION ${config_dir} COMPONENT library)
endforeach()

install(CODE "
  set(source \"${CMAKE_SOURCE_DIR}\")
  set(binary \"${CMAKE_BINARY_DIR}\")
  set(include \"${CMAKE_INSTALL_INCLUDEDIR}\")
  include(\"${CMAKE_SOURCE_DIR}/cmake/install_headers.cmake\")
" COMPONENT library)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/skeinConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/skeinConfig.cmake ${CMAKE_BINARY_DIR}/skeinConfigVersion.cmake DESTINATION ${config_dir}
        COMPONENT library)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME skein)
set(CPACK_PACKAGE_VENDOR skein)
set(CPACK_PACKAGE_CONTACT "the skein authors <skein@localhost>")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_NAME skein)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/packaging/debian/postinst
    ${CMAKE_SOURCE_DIR}/packaging/debian/prerm ${CMAKE_SOURCE_DIR}/packaging/debian/postrm)
include(CPack)
