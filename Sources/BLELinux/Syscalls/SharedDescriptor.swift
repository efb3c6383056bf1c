/// A descriptor that several threads use: it is closed when the last one releases it, so its number can't go to another
/// file while a call is under way.
final class SharedDescriptor: Sendable {
    let descriptor: FileDescriptor
    init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
}
