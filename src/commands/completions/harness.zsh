#compdef harness
# Completions of harness for zsh. What fits is asked of harness itself.
_harness() {
  local line
  local -a found
  for line in "${(@f)$(harness complete-words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( $#found )); then
    _describe harness found
  else
    _files
  fi
}
if [[ ${funcstack[1]-} == _harness ]]; then
  _harness "$@"
else
  compdef _harness harness
fi
