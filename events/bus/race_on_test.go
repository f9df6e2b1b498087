//go:build race

package bus_test

// raceEnabled shortens the suite's longest tests: 250,000 deliveries one by one.
const raceEnabled = true
