# CPack runs this when files are staged and before it packs them: the tarball gets its libraries.
if(CPACK_GENERATOR STREQUAL "TGZ")
  set(staged ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
  execute_process(COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/collect_libraries.sh ${staged} COMMAND_ERROR_IS_FATAL ANY)
  foreach(folder scenarios docs)  # so that the README's commands work where the tarball was unpacked
    if(EXISTS ${staged}/share/weir/${folder})
      file(CREATE_LINK share/weir/${folder} ${staged}/${folder} SYMBOLIC)
    endif()
  endforeach()
endif()
