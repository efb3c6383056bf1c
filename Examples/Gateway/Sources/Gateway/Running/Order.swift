/// What a running gateway is told.
public enum Order: Sendable {
    /// Another configuration, which was read without an error.
    case reload(Configuration)
    /// End in order: links go down, the spool is written, and the broker is told.
    case stop
}
