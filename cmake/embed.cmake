# embed_files(TARGET SYMBOL FILE...): text files as `const weir::EmbeddedFiles SYMBOL` (embedded.h), by their names
# (embed_json: without .json), so that the binary can be installed and moved.
function(embed_files target symbol)
  set(text "#include \"sim/core/embedded.h\"\nnamespace weir {\nextern const EmbeddedFiles ${symbol};\nconst EmbeddedFiles ${symbol} = {\n")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME)
    string(REGEX REPLACE "\\.json$" "" name ${name})
    file(READ ${file} content)
    string(APPEND text "{\"${name}\", R\"=WEIR=(${content})=WEIR=\"},\n")
  endforeach()
  string(APPEND text "};\n}\n")
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol}.cpp)
  file(GENERATE OUTPUT ${generated} CONTENT "${text}")
  target_sources(${target} PRIVATE ${generated})
endfunction()

# embed_json(TARGET SYMBOL DIRECTORY): the directory's *.json.
function(embed_json target symbol directory)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${directory}/*.json)
  list(SORT files)
  embed_files(${target} ${symbol} ${files})
endfunction()
