-- expect: too complex
(" "):rep(1e5):find((" *"):rep(30) .. "b")
