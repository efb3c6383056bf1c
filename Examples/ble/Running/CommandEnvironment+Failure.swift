import BLEStreams

extension CommandEnvironment {
    /// Prints what is known when a command has failed or was interrupted. If that can't be written, the command's own
    /// failure still decides its exit status; the other one is said, too, unless it is the same or a reader has left.
    func print(despite failure: any Error, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            guard let text = (error as? BLEError)?.messageText else { return }
            if text != (failure as? BLEError)?.messageText { log.say(text) }
        }
    }
}
