# SPDX-License-Identifier: GPL-2.0-or-later
# Reads what the suite printed in a machine, level after level; prints what is worth reading of it under names that say
# where it was (VM is "vm/KERNEL"), and leaves "passed failed skipped" in the file COUNTS.

function reset(name) {
    level = name; at = VM "/" name "/"
    passed = failed = skipped = rest = 0
    summary = ""; diagnostics = 0
}

function fail(why,    i) {
    failed++
    print "not ok " at "suite"
    print "# " why
    for (i = (rest > 20 ? rest - 19 : 1); i <= rest; i++)
        print "# " unknown[i]
}

# A suite that died half way, or ran nothing, must not look like one that passed.
function finish(status,    ours) {
    ours = passed " passed, " failed " failed, " skipped " skipped"
    if (status == "")
        fail("did not end")
    else if (summary != ours)
        fail("ended with status " status ", its tests say '" ours "', its last line '" summary "'")
    else if ((status != 0) != (failed > 0))
        fail("ended with status " status " after " failed " failures")
    else if (passed + failed + skipped == 0)
        fail("nothing was run")
    print VM "/" level ": " passed " passed, " failed " failed, " skipped " skipped"
    all_passed += passed; all_failed += failed; all_skipped += skipped
    level = ""
}

                     { sub(/\r$/, "") }
/^@level /           { reset($2); next }
/^@exit /            { finish($2); next }
/^ok /               { passed++; diagnostics = 0; print "ok " at substr($0, 4); next }
/^not ok /           { failed++; diagnostics = 1; print "not ok " at substr($0, 8); next }
/^skip /             { skipped++; diagnostics = 0; print "skip " at substr($0, 6); next }
/^# .* tried again:$/ { diagnostics = 1; print "# " at substr($0, 3); next }
/^# / && diagnostics { print; next }
/^[0-9]+ passed, /   { summary = $0; next }
/./                  { unknown[++rest] = $0 }

END {
    if (level != "")
        finish("")
    print all_passed + 0, all_failed + 0, all_skipped + 0 > COUNTS
}
