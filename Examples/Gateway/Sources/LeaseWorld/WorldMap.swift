import Leases

/// Which gateways hear which sensors, and how well: a pair is a sensor and a gateway that may hear it.
struct WorldMap {
    /// The pairs of sensor `n` are from `start[n]` to `start[n + 1]`.
    private(set) var start: [Int32] = [0]
    private(set) var gateway: [Int32] = []
    private(set) var sensor: [Int32] = []
    /// In dBm.
    private(set) var strength: [Int16] = []
    /// The pairs of each gateway.
    private(set) var pairs: [[Int32]]

    /// Places gateways on a grid with some disorder, and sensors anywhere. About five gateways hear a sensor.
    init(gateways: Int, sensors: Int, random: inout LeaseRandom) {
        pairs = Array(repeating: [], count: gateways)
        var side = 1
        while side * side < gateways { side += 1 }
        func place(_ index: Int, _ jitter: (Int64, Int64)) -> (Int64, Int64) {
            (Int64(index % side) * 1000 + 250 + jitter.0, Int64(index / side) * 1000 + 250 + jitter.1)
        }
        let places = (0..<gateways).map { place($0, (random.below(500), random.below(500))) }
        let rows = (gateways + side - 1) / side
        for sensor in 0..<sensors {
            let x = random.below(Int64(min(side, gateways)) * 1000)
            let y = random.below(Int64(rows) * 1000)
            var nearest = (gateway: 0, distance: Int64.max)
            for row in max(0, Int(y / 1000) - 2)...min(rows - 1, Int(y / 1000) + 2) {
                for column in max(0, Int(x / 1000) - 2)...min(side - 1, Int(x / 1000) + 2) {
                    let candidate = row * side + column
                    guard candidate < gateways else { continue }
                    let (dx, dy) = (places[candidate].0 - x, places[candidate].1 - y)
                    let distance = dx * dx + dy * dy
                    if distance < nearest.distance { nearest = (candidate, distance) }
                    if distance < 1_600_000 { add(sensor, candidate, distance) }
                }
            }
            if gateway.count == Int(start[sensor]) { add(sensor, nearest.gateway, nearest.distance) }
            start.append(Int32(gateway.count))
        }
    }

    private mutating func add(_ sensor: Int, _ gateway: Int, _ distance: Int64) {
        pairs[gateway].append(Int32(self.gateway.count))
        self.gateway.append(Int32(gateway))
        self.sensor.append(Int32(sensor))
        // Twice the distance costs 6 dB.
        var level = -45
        var square: Int64 = 10_000
        while square < distance {
            level -= 6
            square *= 4
        }
        strength.append(Int16(max(level, -90)))
    }

    /// The pairs of a sensor.
    func range(of sensor: Int) -> Range<Int> { Int(start[sensor])..<Int(start[sensor + 1]) }

    /// The pair of a sensor and a gateway; `nil`: that one never hears it.
    func pair(_ sensor: Int, _ gateway: Int) -> Int? { range(of: sensor).first { self.gateway[$0] == Int32(gateway) } }
}
