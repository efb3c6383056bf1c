import Synchronization

/// Publishes how far the update of a peripheral is; each percent once.
final class UpdateNews: Sendable {
    /// The phases with which it ends.
    static let done = "done"
    static let failed = "failed"
    static let ends = [done, failed]

    private let publisher: Publisher
    private let label: String
    private let image: String
    private let last = Mutex<(phase: String, percent: Int?)>(("", nil))

    /// - Parameter image: the SHA-256 of the image's file.
    init(_ publisher: Publisher, _ label: String, image: String) {
        self.publisher = publisher
        self.label = label
        self.image = image
    }

    /// - Parameters:
    ///   - phase: what is being done.
    ///   - fraction: how much of that is done, 0 to 1, where it is known.
    func tell(_ phase: String, _ fraction: Double? = nil) {
        let percent = fraction.map { Int($0 * 100) }
        let isNews = last.withLock { last in
            defer { last = (phase, percent) }
            return last != (phase, percent)
        }
        guard isNews else { return }
        let record = JSONText.object(
            ("image", .string(image)),
            ("phase", .string(phase)),
            ("percent", percent.map { .number($0) })
        )
        publisher.retain("update/\(label)", record.octets)
    }
}
