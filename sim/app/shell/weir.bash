# Bash completion of weir, which itself knows what may follow.
_weir() {
  local candidate help
  COMPREPLY=()
  while IFS=$'\t' read -r candidate help; do
    case $candidate in
      :files)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
        ;;
      :directories)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -d -- "${COMP_WORDS[COMP_CWORD]}")
        ;;
      *) COMPREPLY+=("$candidate") ;;
    esac
  done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _weir weir
