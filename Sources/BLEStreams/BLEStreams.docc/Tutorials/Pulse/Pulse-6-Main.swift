import BLEDevices

for try await rate in try await heartRates(on: .default) {
    print("\(rate) beats per minute")
}
