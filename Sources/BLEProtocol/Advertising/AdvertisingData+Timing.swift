extension AdvertisingData {
    /// How often the device advertises, in steps of 0.625 ms, without the random part of up to 10 ms.
    ///
    /// Source: Core Specification Supplement, Part A, 1.15.
    public var advertisingInterval: Duration? {
        let units =
            number(.advertisingInterval, octets: 2)
            ?? number(.advertisingIntervalLong, octets: 4)
            ?? number(.advertisingIntervalLong, octets: 3)
        return units.map { .microseconds(625 * Int64($0)) }
    }
}
