-- expect: 'random'
return math.random()
