import BLEStreams
import Sparkplug

extension SparkplugDriver {
    /// Follows the state of a device as it is now: a change that was read late may be older than values that have come.
    func follow(_ state: SessionState, of label: String) {
        switch state {
        case .connected(let phase): if phase == .ready { device(label, isOnline: true) }
        case .disconnected, .failed: device(label, isOnline: false)
        }
    }

    /// Publishes a value: a metric for each number, word and truth of what it means, or its octets if that isn't known.
    func publish(
        _ value: CharacteristicValue,
        _ decoded: DecodedValue?,
        of characteristic: PublishedCharacteristic,
        from label: String
    ) {
        let name = characteristic.words.joined(separator: "/")
        let time = UInt64(max(0, value.time.sinceEpoch.seconds * 1000))
        let leaves = decoded?.leaves(name) ?? [(name, .bytes(Array(value)), "")]
        values(leaves.map { SparkplugMetric($0.name, $0.value, at: time, unit: $0.unit) }, from: label, at: time)
    }
}

extension DecodedValue {
    /// Its values, each with a name: the path to it, with slashes. A list is its JSON.
    fileprivate func leaves(_ name: String) -> [(name: String, value: SparkplugValue, unit: String)] {
        switch self {
        case .number(let number, let unit): [(name, .double(number), unit)]
        case .word(let word): [(name, .string(word), "")]
        case .bool(let truth): [(name, .boolean(truth), "")]
        case .list: [(name, .string(json.text), "")]
        case .fields(let fields): fields.flatMap { $0.value.leaves("\(name)/\($0.name)") }
        }
    }
}
