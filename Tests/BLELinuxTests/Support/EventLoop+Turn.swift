@testable import BLELinux

extension EventLoop {
    /// Waits until the loop has done what it is at.
    func turn() async {
        await withCheckedContinuation { waiting in enqueue { waiting.resume() } }
    }
}
