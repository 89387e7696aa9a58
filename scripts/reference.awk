# scripts/reference.awk: a header of include/drove as Doxygen wants it (INPUT_FILTER of scripts/reference).
#
# The headers have plain comments.  A comment on lines of its own belongs to what follows it; one behind a declaration, an
# enumerator or a field belongs to that, or to all fields of its line.  The comment in line 1 is the file's.  A comment
# "---- title ----" begins a section; text below the title is about the whole section.  Comments are plain text: lines that
# are indented by two blanks more are kept as they are, and names of the library become links.

# One line of a comment's text, without the frame of stars.
function text(s) {
    if (s ~ /^  +[^ ]/ && may_be_table) {
        s = (in_table ? "" : "\\verbatim\n") s
        in_table = 1
        return s
    }
    gsub(/[\\@<>&#%$]/, "\\\\&", s)
    gsub(/--/, "\\--", s)
    gsub(/(drove|DROVE|ARROW)_[A-Za-z0-9_]+/, "#&", s)
    gsub(/#DROVE_E_ /, "DROVE_E_ ", s)
    sub(/(^|  )Errors: /, "\\errors ", s)
    sub(/(^|  )Source: /, "\\source ", s)
    if (in_table) {
        in_table = 0
        s = "\\endverbatim\n" s
    }
    return s
}
function finish(s) { # the last line of a comment, which has its end
    sub(/ *\*\/ *$/, "", s)
    s = text(s)
    if (in_table) {
        s = s "\n\\endverbatim"
        in_table = 0
    }
    return s " */"
}
# Writes a line of code; fields that share a line and its comment get a line each.
function write_code(s,    base, n, i, field) {
    if (match(s, /^ +([A-Za-z0-9_]+ +)+/) && s ~ /,.*;$/ && s !~ /[()]/) {
        base = substr(s, 1, RLENGTH)
        n = split(substr(s, RLENGTH + 1, length(s) - RLENGTH - 1), field, /, */)
        for (i = 1; i <= n; i++) print (i > 1 ? doc : "") base field[i] ";"
    } else print s
    doc = ""
}
# Writes a line of a comment and keeps it for write_code.
function write_text(s) {
    print s
    doc = doc s "\n"
}
# Writes the line s of a comment; after its end the declaration that it stood behind.
function comment_line(s) {
    if (!is_trailing) sub(/^ *\*( |$)/, "", s)
    else sub(/^ */, "", s)
    if (s ~ /\*\/ *$/ || s == "/") {
        write_text(s == "/" ? finish("") : finish(s))
        in_comment = 0
        if (is_trailing) write_code(code)
        is_trailing = 0
        if (is_section) print "/** \\{ */"
        is_section = 0
    } else write_text(text(s))
}
function close_section() {
    if (has_section) print "/** \\} */"
    has_section = 0
}
# Does the declaration of the line before go on?
function goes_on() { return last ~ /[^;{},\/ ]$/ && last !~ /^ *#/ && last !~ /^ *DROVE_/ && last !~ /\)$/ }

in_comment { may_be_table = !is_trailing; comment_line($0); next }

NR == 1 && /^\/\* / {
    print "/** \\file"
    in_comment = 1
    may_be_table = 0
    comment_line(substr($0, 4))
    next
}
/^ *\/\* ---- .* ----/ {
    close_section()
    title = $0
    sub(/^ *\/\* ---- /, "", title)
    is_whole = title ~ /\*\/ *$/
    sub(/ ----.*/, "", title)
    has_section = 1
    if (is_whole) print "/** \\name " title " */ /** \\{ */"
    else {
        print "/** \\name " title
        in_comment = is_section = 1
    }
    next
}
/^ *\/\* / {
    write_text("/**")
    in_comment = 1
    may_be_table = 0
    sub(/^ *\/\* /, "")
    comment_line($0)
    next
}
/^#pragma/ || /^#if/ || /^#endif/ || /^#include/ {
    if (/pop/) close_section()
    sub(/ *\/\*.*/, "")
    print
    last = ""
    next
}
/\/\* / {
    code = comment = $0
    sub(/ *\/\* .*/, "", code)
    sub(/.*\/\* /, "", comment)
    may_be_table = 0
    if (goes_on()) {
        print code " /**< " finish(comment)
    } else {
        write_text("/**")
        in_comment = is_trailing = 1
        comment_line(comment)
    }
    last = code
    next
}
{ write_code($0); last = $0 }
