# Reads what a run under LeakSanitizer has written. Prints the real leaks, and fails if there is one, if a test has
# failed, or if anything else was reported.
#
# An object that something weak refers to has a side table, whose address it keeps encoded: LeakSanitizer finds no
# pointer to the table of an object that lives at the end, and calls it a direct leak. A suppression would hide too
# much: whatever a suppressed table leads to counts as reachable, and it leads to its object, so that no cycle of such
# objects would be reported any more. What is leaked with a table is reported by itself.
function judge() {
    if (leak != "" && (leak !~ /^Direct/ || leak !~ /::formWeakReference\(/)) {
        print leak "\n"
        count += objects
    }
    leak = ""
}

/Test run with .* passed after / { hasPassed = 1 }
/ERROR: LeakSanitizer: detected memory leaks/ { hasReport = 1 }
/ERROR: AddressSanitizer|runtime error: / { hasError = 1 }

/^(Direct|Indirect) leak of / {
    judge()
    leak = $0
    objects = $7
    next
}
NF == 0 { judge() }
leak != "" { leak = leak "\n" $0 }

END {
    judge()
    if (count) print count " objects are leaked"
    exit count || hasError || !hasPassed || !hasReport
}
