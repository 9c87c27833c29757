/* The end of a session and its repetition: `Scripts.endSession`, `confirmEnd`, `EndingMemory`, `EndingReplay`, and the news of
 * ends that `InvalidationFeed` hears. A user signs out, at either gateway, up to three times while the answer is 503. One
 * restart: of Redis, or of a gateway, which forgets what it knew.
 *
 * Promises:
 *   knowerRefuses  A gateway that has ended the session, or has heard of its end, serves it no more, whatever Redis says.
 *   endIsRepeated  When all is quiet, Redis has no session whose end was answered, if a gateway that knew of the end lives.
 *   endIsKept      After a faithful failover, the new primary knows each end that was answered, whoever was stopped.
 *
 * Safeguards that a switch takes out: NO_MEMORY (a read is not compared with `EndingMemory`), NO_NOTE (an end of its own is not
 * remembered), NO_NEWS (an end elsewhere is not), NO_REPLAY, NO_AFTERMATH (`EndingReplay` goes through the ends once), NO_WAIT,
 * NO_REWRITE (`confirmEnd` has written nothing to wait for), NO_HOLD.
 *
 * CONFIRM_COUNTS shows a limit: a gateway that confirms an end of which it has not heard does not remember it, because then
 * anybody could fill its memory with tokens that never existed. If Redis loses that end, such a gateway serves the session
 * until one that knows of the end has repeated it.
 */
#define TRIES 3
#define LIVE 1
#define ENDED 0
#define FIRST LIVE

bool knowerRefuses = true;
bool endIsRepeated = true;
bool endIsKept = true;

inline promise(name, condition) {
    if
    :: (condition)
    :: else -> name = false; assert(name)
    fi
}

/* Whether the end is in the gateway's `EndingMemory`, and whether it should be. */
bool remembers[2];
bool knows[2];
/* News on their way to a gateway: lost with its connection. */
bool news[2];
/* Whether the user was told that the session has ended. */
bool answered;
/* Whether a gateway is waiting for an answer to its own script. */
bool isEnding[2];
/* The reign for which a gateway has begun to repeat ends. */
byte begun[2] = 1;

inline newReign() {
    news[0] = false;
    news[1] = false;
#ifdef FAITHFUL
    promise(endIsKept, !answered || restarts > 0 || past[head] == ENDED)
#endif
}
inline gatewayMoved(g) { news[g] = false }

#include "Redis.pml"

inline remember(g) {
#ifndef NO_NOTE
    remembers[g] = true
#else
    skip
#endif
}

/* `Scripts.endSession` at the server of gateway `g`: all who listen there are told, if it ends something. */
inline endSession(g) {
    if
    :: value(g) == LIVE ->
        write(g, ENDED);
        if
        :: isBehind[1 - g] == isBehind[g] -> news[1 - g] = true
        :: else
        fi
    :: else
    fi
}

active proctype User() {
    byte g;
    byte tries;
    byte under;
    byte place;
    mtype answer;
again:
    atomic {
        under = 0; place = 0; answer = 0;
        if
        :: tries == TRIES -> goto over
        :: else -> tries++
        fi;
        if
        :: g = 0
        :: g = 1
        fi;
        if
        :: !serves(g) || holds(g) -> goto again
        :: else
        fi;
        if
        :: value(g) == LIVE -> isEnding[g] = true
        :: else -> goto confirm
        fi
    }
    /* `RedisStore.ending` */
    atomic {
        if
        :: !serves(g) || holds(g) -> isEnding[g] = false; goto again
        :: else -> sent(); under = reignOf(g)
        fi;
        if
        :: true -> endSession(g); place = head
        /* The connection was lost before the script arrived, which the gateway does not know. */
        :: remember(g); isEnding[g] = false; settled(); goto again
        fi
    }
    atomic {
        wait(under, place, true, answer);
        knows[g] = true;
        remember(g);
        isEnding[g] = false;
        if
        :: answer == confirmed_ -> goto done
        :: else -> settled(); goto again
        fi
    }
confirm:
    /* `Scripts.confirmEnd` */
    atomic {
        if
        :: !serves(g) || holds(g) || value(g) == LIVE -> goto again
        :: else -> sent(); under = reignOf(g); place = head
        fi
    }
    atomic {
#ifdef NO_REWRITE
        wait(under, place, false, answer);
#else
        wait(under, place, true, answer);
#endif
        if
        :: answer == confirmed_
        :: else -> settled(); goto again
        fi;
#ifdef CONFIRM_COUNTS
        knows[g] = true;
#endif
    }
done:
    atomic {
        settled();
        answered = true;
#ifdef FAITHFUL
        promise(endIsKept, restarts > 0 || past[head] == ENDED)
#endif
    }
over:
    atomic { g = 0; tries = 0; under = 0; place = 0; answer = 0 }
}

inline hear(g) {
#ifdef NO_NEWS
    skip
#else
    remembers[g] = true
#endif
}

active proctype News() {
end:
    do
    :: atomic { news[0] -> news[0] = false; knows[0] = true; hear(0) }
    :: atomic { news[1] -> news[1] = false; knows[1] = true; hear(1) }
    od
}

inline forget(g) {
    remembers[g] = false; knows[g] = false; news[g] = false; begun[g] = reignOf(g); restarts++
}

active proctype Stops() {
end:
    do
    :: atomic { restarts < RESTARTS && !isEnding[0] -> forget(0) }
    :: atomic { restarts < RESTARTS && !isEnding[1] -> forget(1) }
    od
}

inline repeat(g) {
#ifndef NO_REPLAY
    if
    :: past[head] == LIVE -> assert(head < WRITES - 1); head++; past[head] = ENDED
    :: else
    fi
#else
    skip
#endif
}

/* `EndingReplay`, on the first loop of a gateway. It may have reached the new primary while another loop has not. */
proctype Replay(byte g) {
    byte under;
    bool isAlive;
end:
    do
    :: atomic {
        begun[g] != reign ->
        under = reign;
        begun[g] = reign;
        isAlive = remembers[g] && past[head] == LIVE
    };
        atomic {
            if
            :: under != reign || begun[g] != under || !isAlive
            :: else -> repeat(g)
            fi;
            isAlive = false
        };
#ifndef NO_AFTERMATH
        /* Two seconds later every loop has moved, and has its answers. */
        if
        :: atomic { under != reign || begun[g] != under }
        :: atomic {
            under == reign && begun[g] == under && !isBehind[g] && !isEnding[g] ->
            isAlive = remembers[g] && past[head] == LIVE
        }
        fi;
        atomic {
            if
            :: under != reign || begun[g] != under || !isAlive
            :: else -> repeat(g)
            fi;
            isAlive = false
        };
#endif
        under = 0
    od
}

#ifdef NO_MEMORY
#define refuses(g) false
#else
#define refuses(g) remembers[g]
#endif

/* A request for the session at any time. */
active proctype Reader() {
end:
    do
    :: atomic { knows[0] && serves(0) && value(0) == LIVE && !refuses(0) -> promise(knowerRefuses, false) }
    :: atomic { knows[1] && serves(1) && value(1) == LIVE && !refuses(1) -> promise(knowerRefuses, false) }
    od
}

active proctype Quiet() {
end:
    timeout -> promise(endIsRepeated, !answered || (!knows[0] && !knows[1]) || past[head] == ENDED)
}

init {
    atomic { run Replay(0); run Replay(1) }
}
