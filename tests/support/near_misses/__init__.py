"""Near misses of rules, by the rule's file in rules/: [near(...)]."""

from support.near_misses import attention, canonical, others, targets

OF = {**attention.OF, **canonical.OF, **others.OF, **targets.OF}
