# `cmake --install` puts these; packages are made of the same. weir_mpi is a component of its own.
include(GNUInstallDirs)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME weir)
install(TARGETS weir)
install(FILES sim/app/shell/weir.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME weir)
install(FILES sim/app/shell/weir.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _weir)
install(FILES sim/app/shell/weir.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
set(man_page ${CMAKE_CURRENT_BINARY_DIR}/weir.1)  # in the parser's own words
install(CODE "execute_process(COMMAND $<TARGET_FILE:weir> --man OUTPUT_FILE ${man_page} COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
# Where Debian's Python 3 looks under /usr; elsewhere PYTHONPATH names it (docs/python.md).
install(FILES sim/app/python/weir.py DESTINATION lib/python3/dist-packages)

# Scenarios and schemas, and docs beside them, so that ../scenarios of a page is there.
install(DIRECTORY scenarios docs DESTINATION ${CMAKE_INSTALL_DATADIR}/weir PATTERN "__pycache__" EXCLUDE)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/weir)
install(DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/html OPTIONAL)  # of `make docs`
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

# Licences of the code in the executable: archives, headers that are code, and Chart.js.
find_path(NLOHMANN_HEADER nlohmann/json.hpp)
find_path(CLI11_HEADER CLI/CLI.hpp)
find_path(BOOST_HEADER boost/version.hpp)
set(licences \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}/licences)
install(CODE "file(REMOVE_RECURSE ${licences})
execute_process(COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/copy_licences.sh ${licences}
  ${DLIB_ARCHIVE} ${CBC_ARCHIVES} ${CHART_JS}
  ${NLOHMANN_HEADER}/nlohmann/json.hpp ${CLI11_HEADER}/CLI/CLI.hpp ${BOOST_HEADER}/boost/version.hpp)")
