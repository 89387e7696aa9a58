# bash completion of drove.  Commands, options and names come from the program that is being completed (`drove --help`,
# `drove list`), so nothing here grows old.

_drove_commands() { # PROGRAM: the first words of the indented lines of --help
    "$1" --help 2>/dev/null | sed -nE 's/^ +(drove )?(train|eval|predict|data|info|list|dmgc|bench)( .*)?$/\2/p' | sort -u
}

_drove_options() { # PROGRAM COMMAND
    "$1" "$2" --help 2>/dev/null | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u
}

_drove_names() { # PROGRAM [KIND]: the first word of each line
    "$1" list ${2:+"$2"} 2>/dev/null | sed -nE 's/^ *([A-Za-z0-9_:-]+).*/\1/p'
}

_drove() {
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} words=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="$(_drove_commands "$program") --help --version"
    else
        case $previous in
        --strategy) words=$(_drove_names "$program" strategies) ;;
        --backoff) words=$(_drove_names "$program" backoffs) ;;
        --rule) words=$(_drove_names "$program" rules) ;;
        --schedule) words=$(_drove_names "$program" schedules) ;;
        --model) words=$(_drove_names "$program" models) ;;
        --activation) words=$(_drove_names "$program" activations) ;;
        --init) words=$(_drove_names "$program" inits) ;;
        --loss) words=$(_drove_names "$program" losses) ;;
        --data | --test) words=$(_drove_names "$program" data) ;;
        --isa) words="ref avx2 avx512 neon" ;;
        --bind) words="none compact spread" ;;
        --out | --resume) ;;
        list) [ "$command" = list ] && words=$(_drove_names "$program" "") ;;
        data) [ "$command" = data ] && words="info convert" ;;
        *) case $word in -*) words=$(_drove_options "$program" "$command") ;; esac ;;
        esac
    fi
    # Words hold colons and question marks only after the name; the name is what is completed.
    [ -z "$words" ] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -o bashdefault -F _drove drove
