# The completion that is installed offers what the program knows.
set -eu
[ -e /dev/fd/0 ] || { echo "skip: no /dev/fd, which bash reads the words by"; exit 77; }
PATH=$(dirname "$DROVE"):$PATH
. "$DROVE_SOURCE_DIR/scripts/completion/drove.bash"

offers() { # LINE EXPECTED...: each must be among the replies
    local line=$1 expected
    shift
    COMP_LINE=$line COMP_POINT=${#line} COMPREPLY=()
    _drove
    for expected; do
        case " ${COMPREPLY[*]-} " in
        *" $expected "*) ;;
        *)
            echo "'$line': expected '$expected' among: ${COMPREPLY[*]-}"
            exit 1
            ;;
        esac
    done
}
offers 'drove ' $("$DROVE" __complete '')
offers 'drove tr' train
offers 'drove eval --isa ' ref auto
offers 'drove train --st' --strategy
offers 'drove train --strategy lea' leashed
offers 'drove train --strategy=lea' leashed
offers 'drove train --rule ad' adam adagrad
offers 'drove list ' strategies rules
offers 'drove train --rule adam?' adam?beta1= adam?epsilon=
offers 'drove train --rule=adam?beta1=0.8&b' '0.8&beta2=' # bash wants no text before the last '='
offers 'drove train --schedule constant+plateau:0.2?p' 0.2?patience= # nor what stands before a ':'
offers 'drove train --data synth:digits?n' digits?n_test=
offers 'drove data ' info convert
offers 'drove train --until ' loss=
offers 'drove dm' dmgc
offers 'drove bench ' memory linear calibrate
offers 'drove bench memory --' --threads --seconds --bytes --json --help
offers 'drove bench limits --' --isa --model --batch
offers 'drove bench limits --isa ' ref auto
offers 'drove train --prefetch h' hardware hints
offers 'drove dmgc D8M8 --' --features --threads --sparse --constants --measure --json --help
offers 'drove dmgc D8M8 --constants ' auto paper
offers 'drove dmgc D8M8 --strategy h' hogwild

printf 'age,body weight,survived\n31,72.5,no\n' >people.csv
printf '{"age": 31, "survived": "no"}\n' >people.jsonl
offers 'drove train people.csv --label ' age survived 'body\ weight'
offers 'drove train people.csv --until epochs=1 --label=su' survived
offers 'drove train --data people.jsonl --weights a' age
offers 'drove predict run people.csv --keep s' survived
offers 'drove data info people.csv --label s' survived

COMP_LINE='drove eval ' COMP_POINT=11 COMPREPLY=()
_drove
[ -z "${COMPREPLY[*]-}" ] || { echo "where a file stands, something else was offered: ${COMPREPLY[*]}"; exit 1; }
