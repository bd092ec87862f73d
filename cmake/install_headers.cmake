# Installs the headers that cmake/headers.cmake lists. What is no API moves to skein/detail, so that no program includes
# it by accident. Run when skein is installed (install.cmake sets `source`, `binary` and `include`), so that the copies
# are of the headers as they are then.
cmake_minimum_required(VERSION 3.25)
include(${source}/cmake/headers.cmake)

foreach(header IN LISTS SKEIN_API_HEADERS SKEIN_DETAIL_HEADERS)
  file(READ ${source}/skein/${header} text)
  foreach(moved IN LISTS SKEIN_DETAIL_HEADERS)
    string(REPLACE "#include \"skein/${moved}\"" "#include \"skein/detail/${moved}\"" text "${text}")
  endforeach()
  if(header IN_LIST SKEIN_DETAIL_HEADERS)
    string(PREPEND header "detail/")
  endif()
  set(copy ${binary}/installed-headers/skein/${header})
  file(WRITE ${copy} "${text}")
  cmake_path(GET header PARENT_PATH folder)
  file(INSTALL ${copy} DESTINATION ${CMAKE_INSTALL_PREFIX}/${include}/skein/${folder})
endforeach()
