/// A start that found nothing of an earlier one.
enum FirstStart {
    /// What to tell of it: only a person knows whether the disk is the right one.
    ///
    /// - Parameter paths: the folders and files that were made.
    /// - Returns: `nil` if there are none.
    static func news(of paths: [String]) -> String? {
        guard !paths.isEmpty else { return nil }
        return """
            first start: nothing was found in \(paths.joined(separator: ", ")), so the numbers start again. If \
            these paths were in use before, stop the gateway, and check that their disk is mounted.
            """
    }
}
