/* Redis as the other models see it: a primary with two replicas, one failover and one restart, and two gateways that may be
 * connected to the former primary for a while. Included; not a model by itself.
 *
 * A model packs all keys of one slot into one byte, and a script changes it in one step. `past` has the values in the order
 * of the writes, and `past[head]` is the primary's. A replica has any value since the one that it has confirmed: that is
 * all that `WAIT` tells, so the replicas need no steps of their own. What is written to disk may be any value.
 *
 * FAITHFUL: the failover promotes the replica that has most, and the gateways hear of it before it begins (`RedisNode.hold`),
 * as Sentinel does unless messages are late. Without it any replica may be promoted, and the gateways learn of it later.
 *
 * Left out: a replica is promoted in place of a restarted primary only after it has taken over what that one has left;
 * `QuorumWatch`, slots that move, and clocks.
 */
#ifndef RESTARTS
#define RESTARTS 1
#endif
#ifndef FAILOVERS
#define FAILOVERS 1
#endif
#ifndef WRITES
#define WRITES 8
#endif

/* FIRST is what a model begins with. */
byte past[WRITES] = FIRST;
byte head;
/* `master_replid`: another one after each start and promotion. */
byte reign = 1;
/* What each replica has at least. */
byte confirmed[2];

/* The former primary, which goes on until it is told: its writes will be lost. */
byte formerValue;
byte formerReign;
bool formerServes;
/* Whether its other replica still follows it, and confirms its writes. */
bool formerIsFollowed;

/* Whether each gateway is still connected to the former primary. */
bool isBehind[2];
/* `RedisNode.heldUntil`: durable writes to the former primary, or to the one that is about to become it, are refused. */
bool isHeld;
#define holds(g) (isHeld && (!hasFailedOver || isBehind[g]))
/* Durable writes that were sent and not answered; counted where the failover waits for them. */
byte underWay;
#ifdef FAITHFUL
inline sent() { underWay++ }
inline settled() { underWay-- }
#else
inline sent() { skip }
inline settled() { skip }
#endif

bool hasFailedOver = (FAILOVERS == 0);
byte restarts;

/* What the server of gateway `g` has, and its reign. To be used where `serves(g)`. (Spin takes no `a -> b : c` in the
 * arguments of an `inline`.) */
#define value(g) (isBehind[g] * formerValue + (1 - isBehind[g]) * past[head])
#define reignOf(g) (isBehind[g] * formerReign + (1 - isBehind[g]) * reign)
#define serves(g) (!isBehind[g] || formerServes)

mtype = { confirmed_, short_, lost_ };

/* A script of gateway `g` leaves this value. A write that changes nothing needs no place of its own: who has it has all
 * earlier ones. */
inline write(g, new) {
    if
    :: isBehind[g] -> formerValue = new
    :: else ->
        if
        :: new != past[head] -> assert(head < WRITES - 1); head++; past[head] = new
        :: else
        fi
    fi
}

/* `WAIT 1` after a write under reign `under`, which is in `past[place]`. `wrote` is false where the connection has written
 * nothing: then `WAIT` has nothing to wait for. */
inline wait(under, place, wrote, result) {
    atomic {
        if
        :: result = lost_
#ifndef NO_WAIT
        :: result = short_
#endif
        :: under == reign && wrote ->
            result = confirmed_
#ifndef NO_WAIT
            ;
            if
            :: confirmed[0] < place -> confirmed[0] = place
            :: confirmed[1] < place -> confirmed[1] = place
            :: confirmed[0] >= place || confirmed[1] >= place
            fi
#endif
        :: (under == reign || (formerServes && under == formerReign)) && !wrote -> result = confirmed_
        :: under != reign && formerServes && under == formerReign && wrote && formerIsFollowed -> result = confirmed_
        fi
    }
}

inline promote(least) {
    formerValue = past[head];
    formerReign = reign;
    formerServes = true;
    formerIsFollowed = true;
    isBehind[0] = true;
    isBehind[1] = true;
    do
    :: head > least -> past[head] = FIRST; head--
    :: break
    od;
    reign++;
    confirmed[0] = 0;
    confirmed[1] = 0;
    hasFailedOver = true;
    newReign()
}

#ifdef NO_HOLD
#define mayFailOver (!hasFailedOver && underWay == 0)
#else
#define mayFailOver (!hasFailedOver && underWay == 0 && isHeld)
#endif

active proctype Servers() {
end:
    do
#ifdef FAITHFUL
#ifndef NO_HOLD
    :: !hasFailedOver && !isHeld -> isHeld = true
#endif
    :: atomic { mayFailOver && confirmed[0] >= confirmed[1] -> promote(confirmed[0]) }
    :: atomic { mayFailOver && confirmed[0] <= confirmed[1] -> promote(confirmed[1]) }
#else
    :: atomic { !hasFailedOver -> promote(confirmed[0]) }
    :: atomic { !hasFailedOver -> promote(confirmed[1]) }
#endif
    :: atomic {
        restarts < RESTARTS ->
        do
        :: head > 0 -> past[head] = FIRST; head--
        :: break
        od;
        restarts++;
        reign++;
        confirmed[0] = 0;
        confirmed[1] = 0;
        newReign()
    }
    :: atomic { formerIsFollowed -> formerIsFollowed = false }
    /* Sentinel makes it a replica and ends its connections (`CLIENT KILL`). */
    :: atomic { formerServes -> formerServes = false; formerIsFollowed = false; formerValue = 0 }
    /* `+switch-master`, or the connection was lost. */
    :: atomic { hasFailedOver && isBehind[0] -> isBehind[0] = false; gatewayMoved(0) }
    :: atomic { hasFailedOver && isBehind[1] -> isBehind[1] = false; gatewayMoved(1) }
    od
}
