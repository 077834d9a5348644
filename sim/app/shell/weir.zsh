#compdef weir
# Zsh completion of weir, which itself knows what may follow.
_weir() {
  local -a candidates
  local line
  for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :files) _files ;;
      :directories) _files -/ ;;
      *) candidates+=("${${line//:/\\:}/$'\t'/:}") ;;
    esac
  done
  (( $#candidates )) && _describe 'weir' candidates
}
if [[ $funcstack[1] == _weir ]]; then
  _weir "$@"
else
  compdef _weir weir
fi
