# A generated source with `const weir::EmbeddedFiles SYMBOL` (embedded.h): text files under their names, so that the
# binary can be installed and moved. `names` and `files` are lists of one length.
function(embed_named target symbol names files)
  set(text "#include \"sim/core/embedded.h\"\nnamespace weir {\nextern const EmbeddedFiles ${symbol};\nconst EmbeddedFiles ${symbol} = {\n")
  foreach(name file IN ZIP_LISTS names files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} content)
    string(APPEND text "{\"${name}\", R\"=WEIR=(${content})=WEIR=\"},\n")
  endforeach()
  string(APPEND text "};\n}\n")
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol}.cpp)
  file(GENERATE OUTPUT ${generated} CONTENT "${text}")
  target_sources(${target} PRIVATE ${generated})
endfunction()

# embed_files(TARGET SYMBOL FILE...): by their names, of JSON without .json.
function(embed_files target symbol)
  set(names "")
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME)
    string(REGEX REPLACE "\\.json$" "" name ${name})
    list(APPEND names ${name})
  endforeach()
  embed_named(${target} ${symbol} "${names}" "${ARGN}")
endfunction()

# embed_json(TARGET SYMBOL DIRECTORY): the directory's *.json.
function(embed_json target symbol directory)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${directory}/*.json)
  list(SORT files)
  embed_files(${target} ${symbol} ${files})
endfunction()

# embed_tree(TARGET SYMBOL DIRECTORY): every file below it, by its path from there.
function(embed_tree target symbol directory)
  set(root ${CMAKE_CURRENT_SOURCE_DIR}/${directory})
  file(GLOB_RECURSE names CONFIGURE_DEPENDS RELATIVE ${root} ${root}/*)
  list(SORT names)
  list(TRANSFORM names PREPEND ${root}/ OUTPUT_VARIABLE files)
  embed_named(${target} ${symbol} "${names}" "${files}")
endfunction()
