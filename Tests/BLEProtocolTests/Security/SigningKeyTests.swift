import BLEProtocol
import Testing

@Suite struct SigningKeyTests {
    @Test func `the sample of the specification is signed`() throws {
        // Core Specification, Vol 3, Part F, 3.4.5.4; the key is given there most significant octet first.
        let octets = WireText.octets("611b64ebfbcd1fd372ec9196df425e50")
        let key = try #require(SigningKey(octets: octets.reversed()))
        let signature = key.signature(of: WireText.octets("d212001337"), counter: 1)
        #expect(WireText.text(signature) == "01000000f1871e933c900ff2")
    }

    @Test func `a key has sixteen octets and is not printed`() throws {
        #expect(SigningKey(octets: [1, 2, 3]) == nil)
        let key = try #require(SigningKey(octets: [UInt8](repeating: 0xAB, count: 16)))
        var dumped = ""
        dump(key, to: &dumped)
        #expect("\(key) \(String(reflecting: key)) \(dumped)".contains("<key>"))
        #expect(!"\(key) \(String(reflecting: key)) \(dumped)".contains("171"))
    }

    struct Vectors: Decodable {
        struct Answers: Decodable { var signedWrite: [Answer] }
        struct Answer: Decodable {
            var message: String
            var signCounter: UInt32
            var csrkMsbFirst: String
            var signatureOnAir: String
        }
        var knownAnswers: Answers
    }

    @Test(.enabled(if: VectorFile.arePresent, VectorFile.why))
    func `known answers come out`() throws {
        let answers = try VectorFile.load("gatt_vectors.json", as: Vectors.self).knownAnswers.signedWrite
        #expect(answers.count == 2)
        for answer in answers {
            let key = try #require(SigningKey(octets: WireText.octets(answer.csrkMsbFirst).reversed()))
            let signature = key.signature(of: WireText.octets(answer.message), counter: answer.signCounter)
            #expect(WireText.text(signature) == answer.signatureOnAir)
        }
    }
}
