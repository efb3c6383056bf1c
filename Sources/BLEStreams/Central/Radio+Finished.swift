import BLERadio

extension Radio {
    /// Waits until the radio has undone what was cancelled while the controller or the kernel owed an answer, for some
    /// seconds at most. A program that ended before would leave that behind: an advertisement on the air, for example.
    /// Cancellation doesn't interrupt it.
    func finished() async {
        await undisturbedReply(on: timeline, limit: (.seconds(5), ())) { finish in
            let settling = settle { finish(()) }
            return { settling.cancel() }
        }
    }
}
