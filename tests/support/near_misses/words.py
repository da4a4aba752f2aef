"""Near misses of rules: an example that a rule rewrites, with one change that
makes the rule reject it, and the reason. They are here and not in the rules since
they are many, and each is only a change.
"""

import re


def near(title, reason, *changes, options="{}", warns=False, gives=None,
         assumed=None, changes_meaning=False):
    """`changes`: (old, new) texts of the example of this title. Without a reason
    the result is `gives`, or the graph is unchanged without a message."""
    return title, reason, changes, options, warns, gives, assumed, changes_meaning


def graph(rule, miss):
    """The graph of a near miss of a rule, which is its file's text."""
    title, changes = miss[0], miss[2]
    found = re.search(r'\{ "' + re.escape(title) + r'", \[\[(.*?)\]\]', rule, re.S)
    assert found, title
    text = found[1]
    for old, new in changes:
        assert old in text, (title, old)
        text = text.replace(old, new)
    return text


def lua_string(text):
    return f"[==[{text}]==]"


def example(rule, number, miss):
    """A near miss as an example in Lua."""
    title, reason, _, options, warns, gives, assumed, changes_meaning = miss
    text = graph(rule, miss)
    if reason:
        says = f"{'warned' if warns else 'rejected'} = {lua_string(reason)}"
    else:
        says = lua_string(gives or text[text.rindex("{\n") + 1:text.rindex("}")])
    if assumed:
        says += f", assumed = {lua_string(assumed)}"
    if changes_meaning:
        says += ", changes_meaning = true"
    return (f'{{ "near miss {number}: {title}", {lua_string(text)}, {says}, '
            f"options = {options} }},\n")


def added(rule, misses):
    """The text of a rule file with near misses among the examples."""
    made = [example(rule, i, miss) for i, miss in enumerate(misses)]
    head, tail = rule.split("  examples = {\n", 1)
    return head + "  examples = {\n" + "".join(made) + tail
