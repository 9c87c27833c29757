import NIOCore
import RequestPath
import Testing

@Suite("The pace of connects to a server") struct ConnectPaceTests {
    private static func at(_ milliseconds: Int64) -> NIODeadline {
        .uptimeNanoseconds(0) + .seconds(1000) + .milliseconds(milliseconds)
    }

    /// Begins as many connects as may be under way.
    private static func begin(_ pace: inout ConnectPace, for wanted: Int, at time: Int64) -> [Int] {
        var numbers: [Int] = []
        while let number = pace.begin(for: wanted, now: Self.at(time)) { numbers.append(number) }
        return numbers
    }

    @Test func fewBeginAtFirstAndTwiceAsManyOnceTheyHaveConnected() {
        var pace = ConnectPace()
        var begun: [Int] = []
        for time in Int64(0)..<4 {
            let numbers = Self.begin(&pace, for: 1000, at: time)
            begun.append(numbers.count)
            for number in numbers { pace.connected(number, now: Self.at(time)) }
        }
        #expect(begun == [4, 4, 4, 4])
        begun = []
        var underWay = Self.begin(&pace, for: 1000, at: 10)
        for _ in 0..<4 {
            begun.append(underWay.count)
            var next: [Int] = []
            for number in underWay {
                pace.connected(number, now: Self.at(10))
                next += Self.begin(&pace, for: 1000, at: 10)
            }
            underWay = next
        }
        #expect(begun == [4, 8, 16, 32])
    }

    @Test func noMoreBeginThanRequestsWait() {
        var pace = ConnectPace()
        #expect(Self.begin(&pace, for: 2, at: 0).count == 2)
        #expect(Self.begin(&pace, for: 2, at: 0).isEmpty)
        #expect(Self.begin(&pace, for: 3, at: 0).count == 1)
    }

    @Test func oneThatHangsHalvesTheWindowAndGetsAFurtherTryBesideIt() {
        var pace = ConnectPace()
        #expect(Self.begin(&pace, for: 1, at: 0) == [1])
        pace.look(now: Self.at(249))
        #expect(Self.begin(&pace, for: 1, at: 249).isEmpty && pace.window == 4)
        pace.look(now: Self.at(250))
        #expect(Self.begin(&pace, for: 1, at: 250) == [2] && pace.window == 2)
        pace.look(now: Self.at(749))
        #expect(Self.begin(&pace, for: 1, at: 749).isEmpty)
        pace.look(now: Self.at(750))
        #expect(Self.begin(&pace, for: 1, at: 750) == [3] && pace.window == 1)
    }

    @Test func aHangingServerGetsFewFurtherTries() {
        var pace = ConnectPace()
        var begun = 0
        for time in stride(from: Int64(0), to: 5000, by: 50) {
            pace.look(now: Self.at(time))
            begun += Self.begin(&pace, for: 100, at: time).count
        }
        #expect(begun > 4 && begun <= 12, "\(begun)")
    }

    @Test func whichOfTheTwoConnectsDoesNotMatterAndTheOtherEnds() {
        for winner in [1, 2] {
            var pace = ConnectPace()
            _ = Self.begin(&pace, for: 1, at: 0)
            pace.look(now: Self.at(250))
            _ = Self.begin(&pace, for: 1, at: 250)
            #expect(pace.endSurplus(for: 1).isEmpty)
            pace.connected(winner, now: Self.at(260))
            #expect(pace.endSurplus(for: 0) == [3 - winner] && pace.count == 0)
        }
    }

    @Test func afterAHangTheWindowGrowsByOneForAFullWindow() {
        var pace = ConnectPace()
        _ = Self.begin(&pace, for: 4, at: 0)
        pace.look(now: Self.at(250))
        #expect(pace.window == 2)
        var windows: [Int] = []
        for time in Int64(300)..<306 {
            guard let number = pace.begin(for: 100, now: Self.at(time)) else { break }
            pace.connected(number, now: Self.at(time))
            windows.append(pace.window)
        }
        #expect(windows == [2, 3, 3, 3, 4, 4])
    }

    @Test func aServerThatIsFarAwayDoesNotHang() {
        var pace = ConnectPace()
        let first = Self.begin(&pace, for: 4, at: 0)
        for number in first { pace.connected(number, now: Self.at(200)) }
        let second = Self.begin(&pace, for: 4, at: 200)
        #expect(second.count == 4)
        pace.look(now: Self.at(900))
        #expect(Self.begin(&pace, for: 4, at: 900).isEmpty)
        pace.look(now: Self.at(1000))
        #expect(!Self.begin(&pace, for: 4, at: 1000).isEmpty)
    }

    @Test func anExchangeThatEndsLetsOneMoreBegin() {
        var pace = ConnectPace()
        #expect(Self.begin(&pace, for: 100, at: 0).count == 4)
        pace.freed()
        #expect(Self.begin(&pace, for: 100, at: 1).count == 1)
        for _ in 0..<20 { pace.freed() }
        #expect(Self.begin(&pace, for: 100, at: 2).count == 5)
    }

    @Test func aRefusedConnectIsTriedAgainAfterAPauseAndThenOneAtATime() {
        var pace = ConnectPace()
        let numbers = Self.begin(&pace, for: 100, at: 0)
        for number in numbers.prefix(1) { pace.refused(number, now: Self.at(0)) }
        for number in numbers.dropFirst() { pace.failed(number) }
        var times: [Int64] = []
        for time in stride(from: Int64(0), to: 1000, by: 10) {
            for number in Self.begin(&pace, for: 100, at: time) {
                times.append(time)
                pace.refused(number, now: Self.at(time))
            }
        }
        #expect(times == [50, 150, 350, 600, 850])
        let next = Self.begin(&pace, for: 100, at: 1100)
        #expect(next.count == 1)
        pace.connected(next[0], now: Self.at(1100))
        #expect(Self.begin(&pace, for: 100, at: 1100).count == 2)
    }

    @Test func aServerThatRefusesIsWaitedForWhileItMayBeStarting() {
        var pace = ConnectPace()
        let limit = TimeAmount.seconds(5)
        #expect(pace.patience(upTo: limit, now: Self.at(0)) == limit && !pace.isRefused)
        let first = Self.begin(&pace, for: 1, at: 0)
        for number in first { pace.refused(number, now: Self.at(0)) }
        #expect(pace.patience(upTo: limit, now: Self.at(2999)) == ConnectPace.startPatience && pace.isRefused)
        #expect(pace.patience(upTo: .seconds(1), now: Self.at(0)) == .seconds(1))
        #expect(pace.patience(upTo: limit, now: Self.at(30_001)) == ConnectPace.gonePatience)
        for number in Self.begin(&pace, for: 1, at: 31_000) { pace.connected(number, now: Self.at(31_000)) }
        #expect(pace.patience(upTo: limit, now: Self.at(31_000)) == limit && !pace.isRefused)
    }

    @Test func theOtherServersGetTheRequestsWithoutAPause() {
        var pace = ConnectPace()
        for number in Self.begin(&pace, for: 4, at: 0) { pace.refused(number, now: Self.at(0), pauses: false) }
        #expect(Self.begin(&pace, for: 4, at: 0).count == 4)
    }

    @Test func tlsHoldsItsPlaceAndDoesNotHang() {
        var pace = ConnectPace()
        let numbers = Self.begin(&pace, for: 100, at: 0)
        for number in numbers { pace.accepted(number, now: Self.at(10)) }
        pace.look(now: Self.at(2000))
        #expect(Self.begin(&pace, for: 100, at: 2000).isEmpty && pace.window == 4)
        #expect(pace.endSurplus(for: 0).isEmpty && pace.count == 4)
        for number in numbers { pace.connected(number, now: Self.at(2100)) }
        #expect(pace.count == 0 && pace.window == 8)
    }

    @Test func connectsThatHaveJustBegunArePromising() {
        var pace = ConnectPace()
        let numbers = Self.begin(&pace, for: 2, at: 0)
        pace.accepted(numbers[0], now: Self.at(1))
        #expect(pace.promising(now: Self.at(49)) == 2)
        #expect(pace.promising(now: Self.at(50)) == 1)
        #expect(pace.promising(now: Self.at(1000)) == 0)
    }

    @Test func aProcessWithoutDescriptorsTriesAgain() {
        var pace = ConnectPace()
        let numbers = Self.begin(&pace, for: 1, at: 0)
        for number in numbers { pace.lacked(number, now: Self.at(0)) }
        #expect(Self.begin(&pace, for: 1, at: 49).isEmpty)
        #expect(Self.begin(&pace, for: 1, at: 50).count == 1 && !pace.isRefused)
    }
}
