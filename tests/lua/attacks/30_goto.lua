-- expect: ran longer
::again:: goto again
