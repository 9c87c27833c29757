/* The provider's word about a sign-in: `ProviderGrants+Renewal.swift` (`refresh`, `take`, `rest`, `endHolders`) for a grant
 * that a browser and an app hold, and with HOLDERS the holders that come and go: `ProviderGrants.add`, `leaveShared` and
 * `TokenService.hold`. Two gateways ask whenever the interval is over. The provider says yes, says no from some moment on, or
 * is away. It gives another refresh token each time, so that a gateway which finds a lease that is over asks no more. One
 * gateway may die. The lease itself is the subject of Lease, the repetition of ends that were lost that of SignOut.
 *
 * Promises:
 *   outageEndsNobody  A session ends only after the provider has said no, or after its own user has signed out.
 *   askedOnce         With FAITHFUL, no restart of Redis: the provider says yes once in each interval, and is not asked again.
 *   noEndsAll         With FAITHFUL, no restart: after a gateway has told that the sign-in has ended, no primary has any of its
 *                     sessions.
 *   noIsFollowed      With QUIET: at last a sign-in has no session if a gateway that lives got a no, or found no grant.
 *   holderLives       With HOLDERS: an app that got tokens has a grant, whoever signs out meanwhile.
 *   lastRevokes       With HOLDERS: at last a grant without a live holder is gone.
 *
 * Safeguards that a switch takes out: NO_LEASE (nobody looks at it), NO_SWAP (a lease does not look at what it replaces),
 * NO_SETTLING (the answer is written once), REST_ALWAYS (a gateway that got no answer gives back the lease, whoever has it),
 * AWAY_ENDS (a provider that is away has said no), NO_ABSENCE (a gateway that finds no grant ends nothing), ENDS_ONCE (an end
 * is not repeated), NO_WAIT, NO_HOLD; and with HOLDERS: NO_SECOND (an app is added before it has tokens, and not once more),
 * LISTED_SUFFICES (an app that is listed when it is added once more writes nothing), EMPTY_COUNTS (an app is added to a grant
 * whose last holder was removed, and which is about to end).
 *
 * Limits, which `check.sh` shows: without FAITHFUL, a failover may lose an answer that was confirmed, and so may a restart of
 * Redis. The provider is asked once more.
 *
 * Left out: a gateway that dies with a no (the refresh token then counts as lost, and nobody asks any more), providers whose
 * refresh tokens stay valid, pauses after failures, and more holders than a grant lists. Searches with a failover let each
 * gateway look once (LOOKS=1).
 */
/* One byte: the interval of the last yes, the holder of the lease (0: nobody), whether the refresh token counts as lost,
 * whether the grant exists, and whether the sessions of the browser and of the app do. */
#define CONFIRMED(v) ((v) & 3)
#define HOLDER(v) (((v) >> 2) & 3)
#define LOST(v) (((v) >> 4) & 1)
#define GRANT(v) (((v) >> 5) & 1)
#define BROWSER(v) (((v) >> 6) & 1)
#define APP(v) (((v) >> 7) & 1)
/* The record of the grant, which a swap compares, and the keys beside it. */
#define RECORD(v) ((v) & 63)
#define BESIDE(v) ((v) & 192)
#define PACK(confirmed, holder, lost) ((confirmed) | ((holder) << 2) | ((lost) << 4) | 32)
#ifdef HOLDERS
#define FIRST (PACK(0, 0, 0) | 64)
#else
#define FIRST (PACK(0, 0, 0) | 192)
#endif
#ifndef LOOKS
#define LOOKS 2
#endif
#ifndef WRITES
#define WRITES 14
#endif
#ifndef INTERVALS
#define INTERVALS 1
#endif

bool outageEndsNobody = true;
bool askedOnce = true;
bool noEndsAll = true;
bool noIsFollowed = true;
bool holderLives = true;
bool lastRevokes = true;

inline promise(name, condition) {
    if
    :: (condition)
    :: else -> name = false; assert(name)
    fi
}

/* The present interval; in the first one the sign-in is fresh. */
byte interval;
/* The interval in which the provider last said yes. */
byte saidYes;
bool saidNo;
/* The lease's time is over. */
bool isOver;
byte deaths;
/* A gateway has told that the sign-in has ended. */
bool hasEnded;
/* A living gateway has found a session without its grant. */
bool hasFound;

inline newReign() {
#ifdef FAITHFUL
    promise(noEndsAll, restarts > 0 || !hasEnded || BESIDE(past[head]) == 0)
#else
    skip
#endif
}
inline gatewayMoved(g) { skip }

#include "Redis.pml"

#define mayDie deaths == 0 -> deaths++; goto over

/* `Scripts.replace` of the grant at the server of gateway `g`. */
inline replace(g) {
    if
    :: GRANT(value(g)) && (isBlind || RECORD(value(g)) == RECORD(judged)) ->
        isDone = true; next = next | BESIDE(value(g)); write(g, next)
    :: else -> isDone = false
    fi
}

#ifndef HOLDERS
proctype Gateway(byte me) {
    byte g;
    byte looks;
    byte judged;
    byte leased;
    byte next;
    byte under;
    byte place;
    byte ends;
    bool isDone;
    bool isBlind;
    mtype answer;
    g = me - 1;

look:
    atomic {
        judged = 0; leased = 0; next = 0; under = 0; place = 0; ends = 0; isDone = false; isBlind = false; answer = 0;
        if
        :: looks == LOOKS -> goto over
        :: else -> looks++
        fi
    }
    atomic {
        if
        :: !serves(g) -> goto look
        :: else -> judged = value(g)
        fi;
        /* A gateway looks when a session of the sign-in is used. */
        if
        :: BESIDE(judged) == 0 -> goto over
        :: BESIDE(judged) != 0 && !GRANT(judged) ->
            hasFound = true;
#ifdef NO_ABSENCE
            goto over
#else
            goto ended
#endif
        :: BESIDE(judged) != 0 && GRANT(judged) && (LOST(judged) || CONFIRMED(judged) == interval) -> goto look
        :: BESIDE(judged) != 0 && GRANT(judged) && !LOST(judged) && CONFIRMED(judged) < interval ->
            if
#ifndef NO_LEASE
            :: HOLDER(judged) == 3 - me && !isOver -> goto look
            :: HOLDER(judged) == 3 - me && isOver -> next = PACK(CONFIRMED(judged), 0, 1)
            :: HOLDER(judged) != 3 - me -> next = PACK(CONFIRMED(judged), me, 0)
#else
            :: next = PACK(CONFIRMED(judged), me, 0)
#endif
            fi
        fi;
#ifdef NO_SWAP
        isBlind = true;
#endif
        leased = CONFIRMED(judged)
    }
    atomic {
        if
        :: !serves(g) || holds(g) -> goto look
        :: mayDie
        :: serves(g) && !holds(g) ->
            sent();
            if
            :: true -> under = reignOf(g); replace(g); place = head
            :: true -> settled(); goto look
            fi
        fi
    }
    atomic {
        wait(under, place, true, answer);
        settled();
        if
        :: answer != confirmed_ || !isDone || LOST(next) -> goto look
        :: answer == confirmed_ && isDone && !LOST(next) -> skip
        fi
    }
    /* The question. Where the provider is away, it knows nothing of it. */
    atomic {
        if
        :: mayDie
#ifdef AWAY_ENDS
        :: goto ended
#else
        :: next = PACK(leased, 0, 0)
#endif
        :: saidNo = true; goto ended
        :: !saidNo ->
            promise(askedOnce, saidYes < interval);
            saidYes = interval;
            next = PACK(interval, 0, 0)
        fi
    }
settle:
    /* `settle`: read, judge and write until the store has it. */
    atomic {
        judged = 0; under = 0; place = 0; isDone = false; isBlind = false; answer = 0;
        next = next & 63;
        if
        :: mayDie
        :: serves(g) -> judged = value(g)
        fi;
        if
        :: !GRANT(judged) -> goto look
        /* Another gateway has asked after this one. */
        :: GRANT(judged) && CONFIRMED(judged) != leased && RECORD(judged) != RECORD(next) -> goto look
#ifndef REST_ALWAYS
        /* Another gateway is asking. */
        :: GRANT(judged) && CONFIRMED(judged) == leased && CONFIRMED(next) == leased && HOLDER(judged) == 3 - me -> goto look
#endif
        :: else
        fi
    }
    atomic {
        if
        :: mayDie
        :: isBehind[g] && !serves(g) -> goto settle
        :: serves(g) && !holds(g) ->
            sent();
            if
            :: true -> under = reignOf(g); replace(g); place = head
            :: true -> under = reignOf(g)
            fi
        fi
    }
    atomic {
        wait(under, place, true, answer);
        settled();
        if
        :: answer == confirmed_ && isDone -> goto look
#ifdef NO_SETTLING
        :: else -> goto look
#else
        :: else -> goto settle
#endif
        fi
    }
ended:
    /* `endHolders`: the grant, the browser's session and the app's, each until the store has it. `ends` counts them. */
    atomic {
        promise(outageEndsNobody, saidNo);
        ends = 0
    }
end:
    atomic {
        if
        :: deaths == 0 -> deaths++; hasFound = false; goto over
        :: isBehind[g] && !serves(g) -> goto end
        :: serves(g) && !holds(g) ->
            sent();
            under = reignOf(g);
            next = value(g);
            if
            :: true ->
                if
                :: ends == 0 -> next = BESIDE(next)
                :: ends == 1 -> next = next & 191
                :: ends == 2 -> next = next & 127
                fi;
                write(g, next);
                place = head;
                isDone = true
            :: true -> isDone = false
            fi
        fi
    }
    atomic {
        wait(under, place, true, answer);
        settled();
        place = 0;
        if
#ifdef ENDS_ONCE
        :: ends < 2 -> ends++; goto end
        :: ends == 2
#else
        :: answer == confirmed_ && isDone && ends < 2 -> ends++; goto end
        :: answer == confirmed_ && isDone && ends == 2
        /* `persist` repeats them all. */
        :: answer != confirmed_ || !isDone -> ends = 0; goto end
#endif
        fi;
        hasEnded = true;
#ifdef FAITHFUL
        promise(noEndsAll, restarts > 0 || BESIDE(past[head]) == 0);
#endif
        goto over
    }
over:
    atomic {
        looks = 0; judged = 0; leased = 0; next = 0; under = 0; place = 0; ends = 0; isDone = false; isBlind = false;
        answer = 0
    }
}

active proctype Time() {
end:
    do
    :: interval < INTERVALS -> interval++
    :: !isOver -> isOver = true
    od
}
#else
/* Whether the grant lists the browser and the app, and the number of its versions. */
bool listsBrowser = true;
bool listsApp;
byte version;
bool hasTokens;

#ifdef EMPTY_COUNTS
#define isThere GRANT(past[head])
#else
#define isThere (GRANT(past[head]) && (listsBrowser || listsApp))
#endif

/* The app redeems a code. */
active proctype App() {
    byte judged;
    bool isListed;
add:
    atomic {
        if
        :: !isThere -> goto refused
        :: else -> judged = version; isListed = listsApp
        fi
    }
    atomic {
        if
#ifdef LISTED_SUFFICES
        :: isListed -> skip
#endif
        :: !GRANT(past[head]) || version != judged -> goto add
        :: GRANT(past[head]) && version == judged -> listsApp = true; version++
        fi
    }
    if
    :: hasTokens -> goto over
    :: else -> skip
    fi;
    /* The tokens. */
    past[head] = past[head] | 128;
    hasTokens = true;
#ifdef NO_SECOND
    goto over;
#else
    goto add;
#endif
refused:
    /* The code is refused, and what was written for it ends. */
    atomic { past[head] = past[head] & 127; hasTokens = false }
over:
    skip
}

/* The browser signs out. */
active proctype Browser() {
    byte judged;
    bool lives;
    past[head] = past[head] & 191;
leave:
    atomic { judged = version; lives = listsApp }
    /* `living`: a holder without a session has ended. */
    lives = lives && APP(past[head]);
    atomic {
        if
        :: version != judged -> goto leave
        :: else -> listsBrowser = false; listsApp = lives; version++
        fi
    }
    if
    :: !lives -> past[head] = BESIDE(past[head])
    :: else
    fi
}

active proctype Quiet() {
end:
    timeout -> atomic {
        promise(holderLives, !hasTokens || GRANT(past[head]));
        promise(lastRevokes, BESIDE(past[head]) != 0 || !GRANT(past[head]))
    }
}
#endif

#ifdef QUIET
active proctype Quiet() {
end:
    timeout -> promise(noIsFollowed, BESIDE(past[head]) == 0 || !(hasFound || (saidNo && deaths == 0)))
}
#endif

#ifndef HOLDERS
init {
    atomic { run Gateway(1); run Gateway(2) }
}
#endif
