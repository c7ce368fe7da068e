# Completions of harness for fish. What fits is asked of harness itself.
function __harness_words
    set -l before (commandline -opc)
    harness complete-words -- $before[2..] (commandline -ct) 2>/dev/null
end
complete -c harness -f -a '(__harness_words)'
complete -c harness -n 'not count (__harness_words) >/dev/null' -F
