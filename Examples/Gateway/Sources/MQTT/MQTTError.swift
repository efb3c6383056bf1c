/// The error of a client: the operation, its object, the cause, and the remedy.
public struct MQTTError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of an error.
    public enum Code: Hashable, Sendable {
        /// The broker can't be reached, or the connection broke.
        case unreachable
        /// The broker refused the connection, for the MQTT reason given.
        case refused(reason: Int)
        /// TLS failed: a certificate is missing, unreadable or not trusted.
        case security
        /// No answer came in time.
        case timedOut
        /// The broker refused a message or a subscription, for the MQTT reason given.
        case rejected(reason: Int)
        /// The message can't be sent: it is too large, or its topic is not valid.
        case invalidMessage
        /// The settings make no sense.
        case invalidSettings
        /// The broker's packets can't be understood, or libmosquitto failed otherwise.
        case failed
    }

    /// The kind of the error.
    public var code: Code
    /// What was being done: `connect`.
    public var operation: String
    /// The broker, the topic or the file.
    public var object: String
    /// Why it failed.
    public var cause: String
    /// What to do about it.
    public var remedy: String

    /// Makes an error.
    public init(code: Code, operation: String, object: String, cause: String, remedy: String) {
        self.code = code
        self.operation = operation
        self.object = object
        self.cause = cause
        self.remedy = remedy
    }

    /// What to do when the broker has closed the connection. Not every broker says that it did so for another client.
    static let afterLoss = """
        The client connects again. If it is closed again and again, another client has the same client ID: give each \
        its own. The log of the broker says which.
        """

    public var description: String { "\(operation): \(object): \(cause). \(remedy)" }
}
