-- expect: 'dump'
return string.dump(function() end)
