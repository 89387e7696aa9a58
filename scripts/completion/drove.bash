# bash completion of drove: the program itself says what may come next (drove __complete WORD...), so commands, options
# and names never grow old here.  Where it has nothing to say, file names are completed.
_drove()
{
    local line=${COMP_LINE:0:COMP_POINT} words word prefix reply
    read -ra words <<<"$line"
    case $line in *[[:space:]]) words+=("") ;; esac
    word=${words[${#words[@]} - 1]}
    mapfile -t COMPREPLY < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
    # bash begins a new word after : and =, and wants only what stands behind them.
    prefix=${word%"${word##*[:=]}"}
    COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
    for reply in "${COMPREPLY[@]}"; do
        case $reply in *[:=]) compopt -o nospace 2>/dev/null || true ;; esac
    done
    # names of columns may hold blanks
    for word in "${!COMPREPLY[@]}"; do
        case ${COMPREPLY[word]} in *[[:space:]]*) printf -v "COMPREPLY[$word]" %q "${COMPREPLY[word]}" ;; esac
    done
}
complete -o default -o bashdefault -F _drove drove
