-- expect: unknown word
for line in io.lines("/etc/passwd") do end
