import Foundation
import Testing

/// The documentation's pictures of the operators are drawn from what the operators do.
@Suite(.timeLimit(.minutes(10))) struct OperatorPicturesTests {
    private static let catalogue = URL(filePath: #filePath)
        .deletingLastPathComponent().appending(path: "../../../../Sources/BLEStreams/BLEStreams.docc").standardized

    @Test(arguments: OperatorPicture.all)
    func `a picture shows what comes out when its inputs are played`(_ picture: OperatorPicture) async throws {
        let expected = MarblePicture(picture, output: try await picture.perform()).text
        let file = Self.catalogue.appending(path: "Resources/\(picture.name).svg")
        if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTATION"] != nil {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try expected.write(to: file, atomically: true, encoding: .utf8)
        }
        let text = try? String(contentsOf: file, encoding: .utf8)
        #expect(text == expected, "draw it anew: UPDATE_DOCUMENTATION=1 swift test --filter OperatorPicturesTests")
    }

    @Test func `the guide shows each picture, and the call that is in it`() throws {
        let guide = try String(contentsOf: Self.catalogue.appending(path: "Operators.md"), encoding: .utf8)
        for picture in OperatorPicture.all {
            #expect(guide.contains("(\(picture.name))"), "\(picture.name) is not shown")
        }
    }
}

extension OperatorPicture: CustomTestStringConvertible {
    var testDescription: String { name }
}
