/// A device of an edge node.
struct EdgeDevice: Hashable {
    /// Whether it is there, as far as the records say.
    var isOnline = false
    /// Whether it has a certificate since the node's last birth.
    var isBorn = false
    /// What it has sent last, in the order of the first time.
    private(set) var metrics: [SparkplugMetric] = []

    /// Adds metrics that it doesn't have, or that had another type, without a value.
    ///
    /// - Returns: whether it had all of them.
    mutating func declare(_ others: [SparkplugMetric]) -> Bool {
        var isComplete = true
        for other in others {
            let index = metrics.firstIndex { $0.name == other.name }
            if let index, metrics[index].value.type == other.value.type { continue }
            isComplete = false
            var declaration = other
            declaration.value = .null(other.value.type)
            if let index { metrics[index] = declaration } else { metrics.append(declaration) }
        }
        return isComplete
    }

    /// Keeps values for the next certificate.
    mutating func note(_ others: [SparkplugMetric]) {
        for other in others {
            if let index = metrics.firstIndex(where: { $0.name == other.name }) { metrics[index] = other }
        }
    }
}
