package scenario

import "reflect"

// Point is a scenario with one choice of the sweep's values.
type Point struct {
	// At has "field=value" for each sweep; none without.
	At []string
	Scenario
}

// Points are all choices of the sweep's values, the last sweep's changing fastest;
// without a sweep, the scenario as it is. The scenario must be a valid one.
func (s Scenario) Points() []Point {
	points := []Point{{Scenario: s}}
	for _, w := range s.Sweep {
		var next []Point
		for _, p := range points {
			for _, v := range w.Values {
				at := append(p.At[:len(p.At):len(p.At)], w.Field+"="+v)
				next = append(next, Point{at, p.with(&decoder{lines: map[string]int{}}, w.Field, v)})
			}
		}
		points = next
	}
	return points
}

// with is the scenario with another value in a field. What is wrong with that goes to
// the decoder.
func (s Scenario) with(d *decoder, field, v string) Scenario {
	unshare(reflect.ValueOf(&s).Elem())
	d.assign(&s, field, v)
	return s
}

// unshare gives the struct lists of its own.
func unshare(v reflect.Value) {
	switch {
	case isText(v.Type()):
	case v.Kind() == reflect.Struct:
		tagged(v.Type(), func(_ string, f reflect.StructField) { unshare(v.FieldByIndex(f.Index)) })
	case v.Kind() == reflect.Slice && !v.IsNil():
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
		for i := range own.Len() {
			unshare(own.Index(i))
		}
		v.Set(own)
	}
}
